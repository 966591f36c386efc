"""--execute warns of lost racks and of a throttle under the produce rate; like the stock tool it refuses neither."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.client import (
    ClusterNode,
    KafkaError,
    LogDirs,
    MoveTerms,
    PartitionInfo,
    PartitionReassignment,
    ReplicaLogDir,
    TopicPartition,
    Unreachable,
    UnsupportedHere,
)
from kafka_reassign_rpc.client.config_calls import BROKER, Config
from kafka_reassign_rpc.client.server_calls import NO_STATUS
from kafka_reassign_rpc.core.status.broker_documents import ControllerState
from kafka_reassign_rpc.core.status.documents import Status
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, FOLLOWER_REPLICAS
from kafka_reassign_rpc.reassign_command import action_context, execute_reports
from kafka_reassign_rpc.reassign_command.execute_reports import too_slow
from kafka_reassign_rpc.reassign_command.main import main
from kafka_reassign_rpc.reassign_command.set_and_clear_throttles import LEASE_ENDED
from tests.tables import for_each

A = TopicPartition("t", 0)
RACKS = {1: "a", 2: "b", 3: "b", 4: "a"}


class Brokers:
    """Takes the place of the client: t-0 on brokers 1 and 2, to which producers write as much at each look at sizes."""

    def __init__(self, written: int = 0, fails: str = "") -> None:
        self.written = written
        self.fails = fails
        self.size = 1_000_000
        self.defaults: list[Config] = []
        self.topic_configs: list[Config] = []
        self.moves: dict[TopicPartition, PartitionReassignment] = {}
        self.started: list[Mapping[TopicPartition, tuple[int, ...]]] = []

    def say_what_is_waited_for(self, _say: Callable[[str], None]) -> None:
        """Every call is answered at once."""

    def list_partition_reassignments(self) -> dict[TopicPartition, PartitionReassignment]:
        return self.moves

    def can_queue(self) -> bool:
        return False

    def describe_cluster(self) -> list[ClusterNode]:
        return [ClusterNode(broker, "h", 1, rack) for broker, rack in RACKS.items()]

    def describe_topics(self, names: Iterable[str]) -> dict[str, dict[int, PartitionInfo]]:
        assert set(names) == {"t"}
        standing = self.moves[A].replicas if A in self.moves else (1, 2)
        return {"t": {0: PartitionInfo(1, standing, standing)}}

    def describe_log_dirs(self, asked: Mapping[int, Iterable[TopicPartition]], *, timeout_ms: int) -> list[LogDirs]:
        if self.fails == "raises":
            raise Unreachable("no answer")
        self.size += self.written
        return [
            LogDirs(broker, error=self.fails)
            if self.fails
            else LogDirs(broker, {A: ReplicaLogDir("/d", None, self.size)})
            for broker in asked
        ]

    def change_configs(self, changes: Mapping[Any, Any]) -> dict[Any, KafkaError | None]:
        return dict.fromkeys(changes)

    def can_compare_replicas(self) -> bool:
        return True

    def describe_configs(self, asked: Iterable[tuple[int, str]]) -> dict[tuple[int, str], list[Config]]:
        return {one: self.defaults if one == (BROKER, "") else self.topic_configs for one in asked}

    def describe_broker_configs(self, brokers: Iterable[int], *, timeout_ms: int) -> dict[int, list[Config]]:
        return dict.fromkeys(brokers, self.defaults)

    def status(self) -> Status:
        raise UnsupportedHere(NO_STATUS)

    def controller_state(self) -> ControllerState:
        return ControllerState("1", 1, 0, {})

    def alter_partition_reassignments(
        self, moves: Mapping[TopicPartition, MoveTerms], **_: Any
    ) -> dict[TopicPartition, KafkaError | None]:
        self.started.append({name: one.target for name, one in moves.items()})
        return dict.fromkeys(moves)

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _sample_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute_reports, "SAMPLE_S", 0.05)


def execute(
    brokers: Brokers,
    monkeypatch: pytest.MonkeyPatch,
    directory: Path,
    target: list[int],
    *options: str,
    action: str = "--execute",
) -> int:
    file = directory / "move.json"
    file.write_text(json.dumps({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": target}]}))
    monkeypatch.setattr(action_context, "ReassignmentClient", lambda **_: brokers)
    return main(["--bootstrap-server", "localhost:9", action, "--reassignment-json-file", str(file), *options])


def test_dp_4_execute_warns_of_lost_racks_on_standard_error_and_starts_the_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    brokers = Brokers()
    assert execute(brokers, monkeypatch, tmp_path, [3, 2]) == 0
    out, err = capsys.readouterr()
    assert err == "warning: 1 move leaves its partition on fewer racks, or less even over them: t-0\n"
    assert "warning" not in out
    assert out.endswith("Successfully started partition reassignment for t-0\n")
    assert brokers.started == [{A: (3, 2)}]
    brokers.moves = {A: PartitionReassignment((4, 3, 1, 2), (4, 3), (1, 2))}
    assert execute(brokers, monkeypatch, tmp_path, [4, 3], "--additional") == 0
    assert execute(brokers, monkeypatch, tmp_path, [1, 4], "--additional") == 0
    assert capsys.readouterr().err.count("warning") == 1, "only the second of these two"


@pytest.mark.parametrize("options", [(), ("--lease",)])
def test_dp_4_execute_warns_of_a_throttle_under_the_produce_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    brokers = Brokers(written=10_000_000)
    assert execute(brokers, monkeypatch, tmp_path, [4, 2], "--throttle", "50kB", *options) == 0
    out, err = capsys.readouterr()
    assert err.startswith(
        "warning: producers write faster than the throttle of 50.0 kB/s lets replicas copy: broker 4 would receive "
    )
    assert err.endswith("; run the same command again with --additional and a higher --throttle\n")
    assert "producers" not in out


@pytest.mark.parametrize(
    ("brokers", "options"),
    [
        (Brokers(), ("--throttle", "50kB")),
        (Brokers(written=10_000_000), ()),
        (Brokers(written=1), ("--throttle", "50kB")),
        (Brokers(written=10_000_000, fails="?"), ("--throttle", "50kB")),
        (Brokers(written=10_000_000, fails="raises"), ("--throttle", "50kB")),
    ],
)
def test_dp_4_execute_says_nothing_of_a_throttle_that_suffices_or_of_which_nothing_is_known(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    brokers: Brokers,
    options: tuple[str, ...],
) -> None:
    assert execute(brokers, monkeypatch, tmp_path, [4, 2], *options) == 0
    assert capsys.readouterr().err == ""
    assert brokers.started == [{A: (4, 2)}]


@for_each(
    "options, said",
    {
        ("--throttle", "0"): "--throttle 0 stops these moves: nothing is copied at 0 B/s",
        ("--throttle", "50"): "--throttle 50 asks for a unit: 50MB per second, or 50B if that is meant",
        ("--throttle", "50", "--lease"): "--throttle 50 asks for a unit: 50MB per second, or 50B if that is meant",
        ("--throttle", "50", "--dry-run"): "--throttle 50 asks for a unit: 50MB per second, or 50B if that is meant",
        ("--throttle", "50B"): None,
        ("--throttle", "0.5kB"): None,
        ("--throttle", "0", "--lease"): None,
        ("--throttle", "-1"): None,
        ("--throttle", "1000"): None,
    }.items(),
)
def test_dp_4_execute_warns_of_a_throttle_at_which_moves_never_end(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    said: str | None,
) -> None:
    assert execute(Brokers(), monkeypatch, tmp_path, [4, 2], *options) == 0
    cure = "to correct it, run the same command again with --additional and another --throttle"
    assert capsys.readouterr().err == (f"warning: {said}; {cure}\n" if said else "")


def test_dp_4_a_throttle_of_0_is_no_news_to_moves_that_copy_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(Brokers(), monkeypatch, tmp_path, [2, 1], "--throttle", "0") == 0
    assert capsys.readouterr().err == ""


def test_dp_4_the_cure_of_a_throttle_runs_for_the_queue_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Brokers, "can_queue", lambda _: True)
    assert execute(Brokers(), monkeypatch, tmp_path, [4, 2], "--throttle", "50", action="--execute-queue") == 0
    assert "run the same command again with another --throttle\n" in capsys.readouterr().err


def test_dp_4_a_throttle_is_that_of_a_broker_for_all_its_moves_in_each_direction() -> None:
    b, c = TopicPartition("t", 1), TopicPartition("t", 2)
    leaders, added = {A: 1, b: 1, c: 2}, {A: [3, 4], b: [3], c: [4]}
    assert too_slow(100, {A: 40.0, b: 40.0, c: -5.0}, leaders, added) == (
        "warning: producers write faster than the throttle of 100 B/s lets replicas copy: broker 1 would send 120 B/s"
    )
    assert too_slow(120, {A: 40.0, b: 40.0, c: 60.0}, leaders, added) is None
    assert too_slow(1, {}, leaders, added) is None


def test_fg_4_execute_with_a_lease_says_which_limit_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    brokers = Brokers()
    brokers.defaults = [Config(FOLLOWER_RATE, "5000000", 3)]
    assert execute(brokers, monkeypatch, tmp_path, [4, 2], "--throttle", "20MB", "--lease") == 0
    out = capsys.readouterr().out
    assert "On brokers 1,2,4 it stays 5000000 B/s to receive: the dynamic config of all brokers is stricter" in out
    assert "limit is 20000000 B/s" not in out
    assert execute(brokers, monkeypatch, tmp_path, [4, 2], "--throttle", "20MB", "--lease", "--json") == 0
    assert json.loads(capsys.readouterr().out)["stricter"] == [
        {"broker": broker, "side": "receive", "rate": 5_000_000, "by": "default"} for broker in (1, 2, 4)
    ]


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--throttle", "20MB", "--lease")])
def test_dp_4_execute_warns_of_a_target_under_min_insync_replicas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    brokers = Brokers()
    brokers.topic_configs = [Config("min.insync.replicas", "3", 1)]
    assert execute(brokers, monkeypatch, tmp_path, [4, 2], *options) == 0
    err = capsys.readouterr().err
    assert err.startswith("warning: 1 move leaves fewer replicas than min.insync.replicas asks for: t-0; producers")


def test_dp_4_execute_warns_of_a_throttle_that_is_set_and_holds_a_move_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    brokers = Brokers()
    brokers.defaults = [Config(FOLLOWER_RATE, "5000000", 3)]
    brokers.topic_configs = [Config(FOLLOWER_REPLICAS, "*", 1)]
    assert execute(brokers, monkeypatch, tmp_path, [4, 2]) == 0
    assert capsys.readouterr().err == (
        "warning: 1 move is held by a throttle that is already set: t-0; 5000000 B/s to receive on broker 4 (the "
        "dynamic config of all brokers). --throttle sets another one\n"
    )
    assert execute(brokers, monkeypatch, tmp_path, [4, 2], "--throttle", "20MB") == 0
    assert not capsys.readouterr().err, "what --throttle sets takes the place of what stands"


def test_fg_4_a_dry_run_with_a_lease_says_which_limit_would_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    brokers = Brokers()
    brokers.defaults = [Config(FOLLOWER_RATE, "5000000", 3)]
    assert execute(brokers, monkeypatch, tmp_path, [4, 2], "--throttle", "20MB", "--lease", "--dry-run") == 0
    assert "On brokers 1,2,4 it stays 5000000 B/s to receive: " in capsys.readouterr().out
    assert not brokers.started


def test_fg_4_a_lease_that_ends_says_which_limit_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    brokers = Brokers()
    brokers.defaults = [Config(FOLLOWER_RATE, "50", 3)]
    assert execute(brokers, monkeypatch, tmp_path, [4, 2], "--throttle", "0", "--lease") == 0
    stays = "A rate stays, for replicas that throttled.replicas name: 50 B/s to receive on brokers 1,2,4 (the dynamic"
    assert f"{LEASE_ENDED}\n{stays} config of all brokers).\n" in capsys.readouterr().out
