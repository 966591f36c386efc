"""`kafka-reassign move`, --dry-run and `kafka-reassign describe-topic`: the way for those who have no JSON file."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.client import (
    QUEUE,
    ClusterNode,
    KafkaError,
    LogDirs,
    MoveTerms,
    PartitionInfo,
    PartitionReassignment,
    ReplicaLogDir,
    TopicPartition,
    UnsupportedHere,
)
from kafka_reassign_rpc.client.metadata_calls import Everything, TopicInfo
from kafka_reassign_rpc.client.server_calls import NO_STATUS
from kafka_reassign_rpc.core.kafka_errors import UnknownTopicOrPartition
from kafka_reassign_rpc.core.state.partition import RPC
from kafka_reassign_rpc.core.status.broker_documents import ControllerState
from kafka_reassign_rpc.core.status.documents import Status
from kafka_reassign_rpc.reassign_command import action_context, action_move, execute_reports
from kafka_reassign_rpc.reassign_command.main import main, parse_command

A, B, C = (TopicPartition("heal", index) for index in range(3))
SERVER = ("--bootstrap-server", "localhost:9")
MOVING = PartitionReassignment((4, 1, 2), (4,), (2,))


class Cluster:
    """Takes the place of the client: topic `heal`, the name of a command, on brokers 1 to 4, each in its own rack."""

    def __init__(self) -> None:
        self.standing = {A: (1, 2), B: (2, 1), C: (4, 1, 2)}
        self.moves = {C: MOVING}
        self.sent: list[tuple[dict[TopicPartition, MoveTerms], bool]] = []
        self.elected: list[TopicPartition] = []
        self.answers: dict[TopicPartition, KafkaError] = {}

    def say_what_is_waited_for(self, _say: Callable[[str], None]) -> None:
        """Every call is answered at once."""

    def list_partition_reassignments(self, names: Iterable[Any] | None = None) -> dict[TopicPartition, Any]:
        return {name: one for name, one in self.moves.items() if names is None or name in names}

    def elect_preferred_leaders(self, names: Iterable[TopicPartition]) -> dict[TopicPartition, KafkaError | None]:
        self.elected += names
        return {name: self.answers.get(name) for name in self.elected}

    def describe_cluster(self) -> list[ClusterNode]:
        return [ClusterNode(broker, "h", 1, f"rack {broker}") for broker in (1, 2, 3, 4)]

    def describe_topics(self, names: Iterable[str]) -> dict[str, Any]:
        found = {name.partition: PartitionInfo(one[-1], one, one[:2]) for name, one in self.standing.items()}
        return {name: found if name == "heal" else UnknownTopicOrPartition("no") for name in names}

    def describe_everything(self) -> Everything:
        return Everything("c", 1, [], iter([TopicInfo(name, {}, None) for name in ("heap", "heal")]))

    def describe_log_dirs(self, asked: Mapping[int, Iterable[TopicPartition]], *, timeout_ms: int) -> list[LogDirs]:
        sizes = {A: 1_000_000, C: 3_000_000}  # the leader of B does not answer
        return [
            LogDirs(broker, error="away")
            if B in names
            else LogDirs(broker, {name: ReplicaLogDir("/d", None, sizes[name]) for name in names})
            for broker, names in ((broker, list(names)) for broker, names in asked.items())
        ]

    def can_forbid_replication_factor_change(self) -> bool:
        return True

    def can_compare_replicas(self) -> bool:
        return True

    def can_queue(self) -> bool:
        return True

    def can_lease_throttles(self) -> bool:
        return True

    def can_keep_reasons(self) -> bool:
        return True

    def describe_configs(self, asked: Iterable[Any]) -> dict[Any, list[Any]]:
        return {one: [] for one in asked}

    def describe_broker_configs(self, brokers: Iterable[int], *, timeout_ms: int) -> dict[int, list[Any]]:
        assert timeout_ms
        return {broker: [] for broker in brokers}

    def status(self) -> Status:
        raise UnsupportedHere(NO_STATUS)

    def controller_state(self) -> ControllerState:
        return ControllerState("1", 1, 0, {})

    def alter_partition_reassignments(
        self, moves: Mapping[TopicPartition, MoveTerms], *, allow_replication_factor_change: bool
    ) -> dict[TopicPartition, KafkaError | None]:
        self.sent.append((dict(moves), allow_replication_factor_change))
        return dict.fromkeys(moves)

    def change_configs(self, changes: object) -> dict[Any, None]:
        raise AssertionError(f"a dry run sets {changes}")

    def close(self) -> None:
        pass


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def run(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command; its exit code, output and errors."""
    monkeypatch.setattr(action_context, "ReassignmentClient", lambda **_: cluster)
    monkeypatch.setattr(execute_reports, "SAMPLE_S", 0.0)

    def ended(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments, *SERVER])
        return code, *capsys.readouterr()

    return ended


def test_236_12_move_starts_partitions_with_the_options_of_execute(cluster: Cluster, run: Run, tmp_path: Path) -> None:
    cluster.moves = {}
    current = tmp_path / "current.json"
    entries = [{"topic": "heal", "partition": index, "replicas": [1 + index, 2 - index]} for index in (0, 1)]
    current.write_text(json.dumps({"partitions": entries}))
    throttle = ("--throttle", "50MB", "--lease", "--lift-stricter")
    options = (*throttle, "--reason", "more room", "--disallow-replication-factor-change")
    code, out, err = run("move", "heal", "-p", "0:3,1", "-p", "1:2,4", *options, "--expect-current", str(current))
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "Successfully started partition reassignments for heal-0,heal-1"
    first = MoveTerms((3, 1), RPC, "more room", 50_000_000, lifts=True, expected=(1, 2))
    moves = {A: first, B: replace(first, target=(2, 4), expected=(2, 1))}
    assert cluster.sent == [(moves, False)]


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The events: two moves of one request with the id 77 have ended, and a later one of another."""
    told = [
        ("move.started", "heal", 0, 77, [4, 1], [1, 2]),
        ("move.completed", "heal", 0, 77, [4, 1], [1, 2]),
        ("move.completed", "heal", 1, 77, [2, 3], [2, 1]),
        ("move.completed", "heap", 0, 77, [9, 8], [7, 6]),
        ("move.completed", "heal", 0, 78, [3, 3], [1, 2]),
    ]
    names = ("event", "topic", "partition", "id", "original", "target")
    events = [dict(zip(names, one, strict=True)) for one in told]
    log = SimpleNamespace(new=lambda: iter(events), close=lambda: None)
    monkeypatch.setattr(action_move, "MergedEvents", lambda *_: log)


@pytest.mark.usefixtures("ended")
def test_236_12_move_undo_leads_back_to_the_replicas_before_a_move_that_has_ended(cluster: Cluster, run: Run) -> None:
    cluster.moves = {}
    code, out, err = run("move", "heal", "--undo", "77", "--reason", "too slow")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "Successfully started partition reassignments for heal-0,heal-1"
    [(moves, _)] = cluster.sent
    assert {name: one.target for name, one in moves.items()} == {A: (4, 1), B: (2, 3)}
    assert {name: one.expected for name, one in moves.items()} == {A: (1, 2), B: (2, 1)}, "others may have moved them"
    code, out, err = run("move", "heal", "--undo", "79")
    assert (code, len(cluster.sent)) == (1, 1)
    assert "No event says that a move of heal with the id 79 has ended" in out + err
    for wrong in ((), ("--undo", "77", "-p", "0:1,2"), ("--undo", "-1"), ("--undo", "77", "--expect-current", "f")):
        assert run("move", "heal", *wrong)[0] == 1, wrong
    assert len(cluster.sent) == 1


def test_236_12_move_leaders_changes_the_order_of_replicas_and_has_the_first_elected(
    cluster: Cluster, run: Run
) -> None:
    asked = ("move", "heal", "-p", "0:2", "-p", "1:2", "--leaders")
    code, out, err = run(*asked, "--dry-run")
    assert (code, err, cluster.sent, cluster.elected) == (0, "", [], [])
    assert out.splitlines() == [
        "heal-0: 2 leads, replicas 1,2 -> 2,1: another order",
        "heal-1: leader 1 -> 2, and 2 is preferred already",
        "Nothing was changed: this is a dry run. The controller has not been asked.",
    ]
    code, out, err = run(*asked, "--reason", "broker 1 is slow")
    assert (code, err) == (0, "")
    assert cluster.sent == [({A: MoveTerms((2, 1), reason="broker 1 is slow", expected=(1, 2))}, True)]
    assert cluster.elected == [A, B]
    assert out.splitlines()[2:] == [
        "heal-0: broker 2 leads",
        "heal-1: broker 2 leads",
        "The way back: kafka-reassign move heal -p 0:1,2 --leaders",
    ]
    cluster.answers[A] = KafkaError("it has just left the ISR")
    assert run(*asked)[:2] == (
        1,
        f"{chr(10).join(out.splitlines()[:2])}\nNo election:\nheal-0: it has just left the ISR\n",
    )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("0:3", "heal-0: its replicas are 1,2, not 3: --leaders copies nothing"),
        ("0:2,1,4", "heal-0: its replicas are 1,2, not 4: --leaders copies nothing"),
        ("3:1,2", "heal-3: its replicas are 1,2,3, not only 1,2: --leaders copies nothing"),
        ("3:3", "heal-3: broker 3 is not in sync (in sync: 1,2)"),
        ("2:1", "heal-2: it moves: its move says who leads in the end"),
    ],
)
def test_236_12_move_leaders_is_refused_where_the_broker_cannot_lead_at_once(
    cluster: Cluster, run: Run, given: str, why: str
) -> None:
    cluster.standing[TopicPartition("heal", 3)] = (1, 2, 3)
    code, out, _ = run("move", "heal", "-p", given, "-p", "1:2", "--leaders")
    assert (code, cluster.sent, cluster.elected) == (1, [], [])
    assert out.splitlines() == ["Nothing was changed:", why]


def test_236_12_move_leaders_takes_no_option_of_what_it_does_not_do(cluster: Cluster, run: Run) -> None:
    for more in (("--throttle", "1MB"), ("--queue",), ("--watch",), ("--additional",), ("--expect-current", "f")):
        code, _, err = run("move", "heal", "-p", "0:2", "--leaders", *more)
        assert (code, cluster.sent) == (1, [])
        assert err.splitlines()[-1] == f"kafka-reassign move: {more[0]} does not go with --leaders"
    assert run("move", "heal", "--undo", "77", "--leaders")[0] == 1


def test_236_12_move_waits_in_the_queue_where_it_is_asked_to_also_with_other_moves(cluster: Cluster, run: Run) -> None:
    code, out, _ = run("move", "heal", "-p", "0:3,1")
    assert (code, cluster.sent) == (1, [])
    assert "Use --additional" in out
    code, out, _ = run("move", "heal", "-p", "0:3,1", "--queue")
    assert (code, out.splitlines()[-1]) == (0, "Successfully queued partition reassignment for heal-0")
    assert cluster.sent == [({A: MoveTerms((3, 1), QUEUE)}, True)]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (("heal", "-p", "0:3,1", "-p", "0:1,2"), "kafka-reassign move: -p 0:1,2: another -p names partition 0"),
        (("heal", "-p", "0:3,1,3"), "kafka-reassign move: -p 0:3,1,3: broker 3 is named twice"),
        (("other", "-p", "0:3,1"), "There is no topic other (known: heal, heap)."),
        (("heel", "-p", "0:3,1"), "There is no topic heel (is heal meant?)."),
        (("heal", "-p", "7:3,1"), "UnknownTopicOrPartitionException: Unable to find partition: heal-7"),
        (("heal", "-p", "0:3,9"), "Error: Unknown broker id 9"),
        (("heal", "-p", "0:3,1", "--throttle", "5MX"), "Error: Cannot parse argument '5MX' of option throttle"),
        (
            ("heal", "-p", "0:3,1", "--throttle", "50"),
            "kafka-reassign move: --throttle: 50 asks for a unit: 50MB per second, or 50B if that is meant",
        ),
        (("heal", "-p", "0:3,1", "--lease"), "Error: --lease is about the throttle of --throttle: give both"),
        *(
            (("heal", f"-p={text}"), f"-p {text}: expected PARTITION:BROKER,BROKER,…, such as 0:4,5,6")
            for text in ("0", "0:", ":1", "0:1,", "0:,1", "0:1;2", "x:1", "0:x", "-1:1", "0:-1", "0:1:2", "0:1, 2")
        ),
        *(
            (("heal", "-p", text), "expected PARTITION:BROKER,BROKER,…, such as 0:4,5,6")
            for text in ("0:2147483648", "0:" + "9" * 5000, "0:٣", "²:1")
        ),
    ],
)
def test_236_12_what_move_cannot_do_is_the_last_line_and_exit_code_1(
    cluster: Cluster, run: Run, given: tuple[str, ...], line: str
) -> None:
    cluster.moves = {}
    code, out, err = run("move", *given)
    assert (code, cluster.sent) == (1, [])
    *usage, said = (out + err).splitlines()
    assert said.endswith(line)
    assert all(one.startswith(("usage: ", " ")) for one in usage)


def test_236_12_move_without_a_partition_says_how_it_is_called(run: Run) -> None:
    code, out, err = run("move", "heal")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "usage: kafka-reassign move TOPIC {-p 0:4,5,6 [-p …] [--leaders] | --undo ID} [options]"
        " --bootstrap-server HOST:PORT",
        "       kafka-reassign move --help explains all",
        "kafka-reassign move: give -p, or --undo ID",
    ]


@pytest.mark.parametrize(("expected", "code"), [([4, 1, 2], 0), ([1, 2], 1)])
def test_236_12_a_dry_run_compares_what_is_expected_as_the_controller_does_where_a_move_is_in_flight(
    cluster: Cluster, run: Run, tmp_path: Path, expected: list[int], code: int
) -> None:
    """The file that --execute prints has the replicas that a move in flight is adding."""
    current = tmp_path / "current.json"
    entry = {"topic": "heal", "partition": 2, "replicas": expected}
    current.write_text(json.dumps({"partitions": [entry]}))
    options = ("--dry-run", "--additional", "--expect-current", str(current))
    ended, out, _ = run("move", "heal", "-p", "2:3,1", *options)
    assert ended == code
    assert ("It has the replicas 4,1,2, not 1,2 as expected" in out) == bool(code)


def test_236_12_move_takes_no_option_that_it_would_not_heed(cluster: Cluster, run: Run) -> None:
    code, out, err = run("move", "heal", "-p", "0:3,1", "--queue", "--additional")
    assert (code, out, cluster.sent) == (1, "", [])
    assert err.splitlines()[-1] == "kafka-reassign move: argument --additional: not allowed with argument --queue"


def test_236_12_a_dry_run_shows_what_comes_and_goes_with_all_warnings_and_changes_nothing(
    cluster: Cluster, run: Run
) -> None:
    cluster.moves = {C: MOVING}
    moves = ("-p", "0:1,3", "-p", "1:3,4", "-p", "2:4,1", "--throttle", "1MB")
    code, out, err = run("move", "heal", *moves, "--dry-run", "--additional")
    assert (code, err, cluster.sent) == (0, "", [])
    assert out.splitlines() == [
        "heal-0: 1,2 -> 1,3: adds 3, removes 2, 1.0 MB to copy",
        "heal-1: 2,1 -> 3,4: adds 3,4, removes 2,1, an unknown size to copy",
        "heal-2: 1,2 -> 4,1: adds 4, removes 2, 3.0 MB to copy",
        "Nothing was changed: this is a dry run. The controller has not been asked.",
    ]
    cluster.moves = {}
    cluster.standing[C] = (1, 2)
    code, out, _ = run("move", "heal", "-p", "0:1,2", "-p", "1:1,2", "-p", "2:1", "--dry-run")
    assert (code, cluster.sent) == (0, [])
    assert out.splitlines()[:-1] == [
        "heal-0: 1,2 -> 1,2: as it is",
        "heal-1: 2,1 -> 1,2: another order",
        "heal-2: 1,2 -> 1: removes 2",
    ]


def test_236_12_a_dry_run_of_a_file_warns_and_says_what_its_guards_would_refuse(
    cluster: Cluster, run: Run, tmp_path: Path
) -> None:
    cluster.moves = {}
    file = tmp_path / "move.json"
    entry = {"topic": "heal", "partition": 0, "replicas": [3], "expected_replicas": [2, 1]}
    file.write_text(json.dumps({"partitions": [entry]}))
    of_file = ("--execute", "--reassignment-json-file", str(file), "--dry-run")
    code, out, err = run(*of_file)
    assert code == 0
    assert err == "warning: 1 move leaves its partition on fewer racks, or less even over them: heal-0\n"
    code, out, _ = run(*of_file, "--disallow-replication-factor-change")
    assert (code, out.splitlines()[-1]) == (1, "heal-0: The replication factor is changed from 2 to 1")
    code, out, _ = run(*of_file, "--expect-current")
    assert (code, out.splitlines()[-1]) == (1, "heal-0: It has the replicas 1,2, not 2,1 as expected")
    assert cluster.sent == []


def test_236_12_describe_topic_shows_where_partitions_are_and_which_replicas_come_and_go(
    cluster: Cluster, run: Run
) -> None:
    del cluster.standing[B]
    code, out, err = run("describe-topic", "heal")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "heal: 2 partitions",
        "Partition  Leader  Replicas  In sync  Size    Moves",
        "heal-0     2       1,2       1,2      1.0 MB",
        "heal-2     2       4,1,2     4,1      3.0 MB  adds 4, removes 2",
    ]
    code, out, _ = run("describe-topic", "heal", "--json")
    [_, last] = json.loads(out)["partitions"]
    assert last == {
        **{"topic": "heal", "partition": 2, "leader": 2, "replicas": [4, 1, 2], "isr": [4, 1], "bytes": 3_000_000},
        **{"adding_replicas": [4], "removing_replicas": [2]},
    }
    assert run("describe-topic", "other")[:2] == (
        1,
        "There is no topic other (known: heal, heap).\n",
    )
    found = parse_command(["describe-topic", "move", "--bootstrap-server", "h:1"])
    assert found is not None
    assert (found[0].name, found[1].topic) == ("describe-topic", "move"), "the first is the command"
