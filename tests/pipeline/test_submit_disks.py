"""`submit` of plans between log dirs: begun as others end, killed and resumed, taken back, refused, throttled."""

import asyncio
import json
import shutil
import signal
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.cli import submit_command
from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.client import KafkaError, ReassignmentClient, Replica
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    KafkaStorageError,
    LogDirNotFound,
    ReplicaNotAvailable,
)
from kafka_reassign_rpc.core.throttling.replication_throttles import LOG_DIRS_RATE
from kafka_reassign_rpc.pipeline.disks.disk_plan_files import DiskRequest, read_dir_moves
from kafka_reassign_rpc.pipeline.disks.disk_queue import DirMove, MoveState, SeenReplica, state_of
from kafka_reassign_rpc.pipeline.disks.plan_disks_job import DiskJob
from kafka_reassign_rpc.pipeline.disks.plan_disks_job import run as plan
from kafka_reassign_rpc.pipeline.disks.submit_disks import FILE, DiskSubmission
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.submission.stop_conditions import SubmitStopped
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit, PollIntervals, ProgressOutput
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.faults.cluster import Cluster
from tests.pipeline.disk_cluster import DiskCluster
from tests.pipeline.test_submit import submit
from tests.processes import processes
from tests.tables import for_each
from tests.waiting import eventually

AT_ONCE = PollIntervals(poll=0, health=0, patience=0.05)
ONE = Replica(1, "t", 0)
MOVE = DirMove(ONE, "/a", "/b", 100)

STATES = [
    (("/b", None), MoveState.DONE, ""),
    (("/a", "/b"), MoveState.MOVING, ""),
    (("/a", None), MoveState.TO_BEGIN, ""),
    (("/b", "/a"), MoveState.TO_BEGIN, ""),
    (("/a", "/c"), MoveState.DOES_NOT_FIT, "its broker copies it to /c already"),
    (("/b", "/c"), MoveState.DOES_NOT_FIT, "its broker copies it to /c already"),
    (("/c", None), MoveState.DOES_NOT_FIT, "lies in /c, the plan was made for /a"),
    ((None, "/b"), MoveState.DOES_NOT_FIT, "the broker has it in no live log dir"),
]


@for_each(("shown", "state", "why"), STATES)
def test_dh_3_what_a_broker_shows_of_a_replica_says_how_far_its_move_is(
    shown: tuple[str | None, str | None], state: MoveState, why: str
) -> None:
    assert state_of(MOVE, SeenReplica(*shown)) == (state, why)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan that empties /a of brokers 1 and 2: 6 replicas of 100 bytes of each, two at a time."""
    tmp_path = tmp_path_factory.mktemp("disks")
    with SnapshotWriter(tmp_path / "snapshot") as writer:
        writer.brokers.extend((broker, None, "h", 1, None, None, True) for broker in (1, 2))
        writer.log_dirs.extend(
            (broker, log_dir, True, None, None, None) for broker in (1, 2) for log_dir in ["/a", "/b"]
        )
        writer.topics.add(("t", "id-of-t"))
        writer.partitions.extend(("t", index, [1, 2], 1, [1, 2], [], [], 100) for index in range(6))
        writer.replicas.extend(("t", index, broker, 100, "/a", False) for index in range(6) for broker in (1, 2))
        writer.finish(SnapshotMeta("c1", 5))
    plan(DiskJob(tmp_path / "snapshot", tmp_path / "p", DiskRequest(empty={1: ["/a"], 2: ["/a"]}, moves_per_broker=2)))
    return tmp_path / "p"


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "p"))


def standing(log_dir: str = "/a", **others: Any) -> DiskCluster:
    return DiskCluster({Replica(broker, "t", index): log_dir for broker in (1, 2) for index in range(6)}, **others)


def submission(cluster: DiskCluster, path: Path, said: list[str] | None = None, **options: Any) -> DiskSubmission:
    client: Any = cluster
    lines: list[str] = [] if said is None else said
    return DiskSubmission(client, path, ProgressOutput(lines.append, lines.append), AT_ONCE, **options)


def test_dh_3_copies_begin_as_others_end_under_the_throttle_that_is_gone_afterwards(path: Path) -> None:
    cluster, said = standing(rates={1: "777"}), list[str]()
    assert submission(cluster, path, said).dry_run() == 12
    assert (cluster.asked, said[-1]) == ([], "broker 2: 0 done, 0 moving, 6 to begin, 0 does not fit")
    assert submission(cluster, path, said, throttle=5000).execute() == 12
    assert set(cluster.where.values()) == {"/b"}
    assert cluster.most == 2
    assert set(cluster.seen) == {"5000"}
    assert (cluster.rates, (path / FILE).exists()) == ({1: "777", 2: None}, False)
    assert any("of 1.2 kB (" in line for line in said)
    assert submission(cluster, path).execute() == 0, "once more, nothing is left to do"


def test_dh_3_a_run_that_ended_in_between_leaves_its_throttle_and_the_next_one_takes_it_away(path: Path) -> None:
    cluster = standing(rates={1: "777"}, interrupt_at=3)
    first = submission(cluster, path, throttle=5000)
    with pytest.raises(KeyboardInterrupt):
        first.execute()
    assert first.queue.flying
    assert cluster.rates == {1: "5000", 2: "5000"}
    assert submission(cluster, path, throttle=6000).execute() > 0
    assert (set(cluster.where.values()), cluster.rates) == ({"/b"}, {1: "777", 2: None})


def test_dh_3_a_throttle_that_somebody_else_has_set_meanwhile_stays(path: Path) -> None:
    cluster, said = standing(interrupt_at=3), list[str]()
    with pytest.raises(KeyboardInterrupt):
        submission(cluster, path, throttle=5000).execute()
    cluster.rates[2] = "42"
    submission(cluster, path, said).execute()
    assert cluster.rates == {1: None, 2: "42"}
    assert f"broker 2: its {LOG_DIRS_RATE} was changed by somebody else meanwhile, and stays as it is" in said


def test_dh_3_a_broker_that_never_got_the_throttle_is_not_said_to_have_another_one_of_somebody_else(path: Path) -> None:
    class Forbidden(DiskCluster):
        def change_configs(self, changes: Any) -> Any:
            return dict.fromkeys(changes, ClusterAuthorizationFailed())

    cluster, said = Forbidden(standing().where, rates={1: "777"}), list[str]()
    with pytest.raises(SubmitStopped, match="its throttle cannot be set"):
        submission(cluster, path, said, throttle=5000).execute()
    assert (cluster.asked, cluster.rates) == ([], {1: "777"})
    submission(standing(rates={1: "777"}), path, said).execute()
    assert [line for line in said if "somebody else" in line or "may keep" in line] == []


def test_dh_3_the_way_back_ends_copies_and_moves_back_what_has_moved(path: Path) -> None:
    cluster = standing(interrupt_at=5)
    with pytest.raises(KeyboardInterrupt):
        submission(cluster, path).execute()
    assert cluster.copies
    assert set(cluster.where.values()) == {"/a", "/b"}
    begun = cluster.copies.keys()
    back = submission(cluster, path, undo=True)
    back.execute()
    assert not cluster.copies
    assert set(cluster.where.values()) == {"/a"}
    assert {replica for asked in cluster.asked for replica in asked} >= begun


def test_dh_3_a_broker_that_gives_no_answer_holds_up_no_other_and_is_named(path: Path) -> None:
    cluster = standing(silent={2})
    with pytest.raises(SubmitStopped, match=r"broker 2: It is gone\."):
        submission(cluster, path).execute()
    assert {replica.broker for replica, log_dir in cluster.where.items() if log_dir == "/b"} == {1}
    cluster.silent = set()
    assert submission(cluster, path).execute() == 6, "the next run moves the others"


def test_dh_3_a_broker_that_falls_silent_while_it_copies_keeps_the_throttle_until_the_next_run(path: Path) -> None:
    class Falling(DiskCluster):
        def alter_replica_log_dirs(self, moves: Any) -> Any:
            self.silent = {2} if any(replica.broker == 2 for replica in moves) else self.silent
            return super().alter_replica_log_dirs(moves)

    cluster = Falling(standing().where)
    first = submission(cluster, path, throttle=5000)
    with pytest.raises(SubmitStopped, match="what they copy goes on"):
        first.execute()
    assert (cluster.rates, first.queue.unseen) == ({1: None, 2: "5000"}, 2)
    still = DiskCluster(cluster.where, copies=cluster.copies, rates=cluster.rates)
    submission(still, path).execute()
    assert (set(still.where.values()), still.rates) == ({"/b"}, {1: None, 2: None})


class LateCluster(DiskCluster):
    """Its brokers learn of the throttle only when they have been asked for it so often."""

    asks = 3
    coming: Any = None

    def change_configs(self, changes: Any) -> Any:
        self.coming = changes
        return dict.fromkeys(changes)

    def describe_broker_configs(self, brokers: Any) -> Any:
        self.asks -= self.coming is not None
        if self.asks == 0:
            super().change_configs(self.coming)
        return super().describe_broker_configs(brokers)


def test_dh_3_no_copy_begins_before_its_broker_follows_the_throttle(path: Path) -> None:
    cluster = LateCluster(standing().where)
    submission(cluster, path, throttle=5000).execute()
    assert set(cluster.seen) == {"5000"}
    never = LateCluster(standing().where)
    never.asks = -1
    run = submission(never, path, throttle=5000)
    run.intervals = PollIntervals(poll=0, health=0, patience=0.05, mismatch=0.01)
    with pytest.raises(SubmitStopped, match="its throttle cannot be set: The broker does not show it after"):
        run.execute()
    assert never.asked == []


def test_dh_3_a_topic_that_is_made_again_while_its_replicas_wait_is_left_alone(path: Path) -> None:
    class MadeAgain(DiskCluster):
        def alter_replica_log_dirs(self, moves: Any) -> Any:
            self.topic_id = "another"
            return super().alter_replica_log_dirs(moves)

    cluster = MadeAgain(standing().where)
    with pytest.raises(PlanDoesNotFit, match="its id is another, in the snapshot id-of-t"):
        submission(cluster, path).execute()
    assert [len(asked) for asked in cluster.asked] == [2]


@pytest.mark.parametrize("number", [-1, 2**31, 2**70])
@pytest.mark.parametrize("key", ["partition", "replicas"])
def test_dh_3_numbers_of_partitions_and_brokers_that_cannot_be_are_refused(path: Path, key: str, number: int) -> None:
    file = path / "batches" / "batch-0001.json"
    batch = json.loads(file.read_text())
    batch["partitions"][0][key] = [number, number + 1] if key == "replicas" else number
    refused_before_anything_is_asked(path, file, batch)


@pytest.mark.parametrize("number", [0, -1])
def test_dh_3_a_plan_with_no_move_at_a_time_is_refused_and_not_waited_for(path: Path, number: int) -> None:
    file = path / "summary.json"
    summary = json.loads(file.read_text())
    summary["requested"]["moves_per_broker"] = number
    refused_before_anything_is_asked(path, file, summary)


def refused_before_anything_is_asked(path: Path, file: Path, content: object) -> None:
    file.write_text(json.dumps(content))
    cluster = standing()
    with pytest.raises(BadInput, match=file.name):
        submission(cluster, path).execute()
    assert cluster.asked == []


def test_dh_3_a_broker_whose_throttle_cannot_be_set_copies_nothing(path: Path) -> None:
    cluster = standing(silent={2})
    with pytest.raises(SubmitStopped, match="its throttle cannot be set: It is gone"):
        submission(cluster, path, throttle=5000).execute()
    assert cluster.rates == {1: None}


@pytest.mark.parametrize(
    ("errors", "saying"),
    [
        ([LogDirNotFound()], "1-t-0|log dir"),
        ([ReplicaNotAvailable()] * 2, ""),
        ([ReplicaNotAvailable()] * 99, "t-0-1"),
        ([KafkaStorageError()] * 99, "t-0-1"),
    ],
)
def test_dh_3_a_refused_replica_is_left_out_with_the_reason_and_one_refused_for_the_moment_is_asked_again(
    path: Path, errors: list[KafkaError], saying: str
) -> None:
    cluster = standing(refusals={ONE: list(errors)})
    if saying:
        with pytest.raises(PlanDoesNotFit, match=saying):
            submission(cluster, path).execute()
        assert cluster.where.pop(ONE) == "/a"
    else:
        submission(cluster, path).execute()
    assert set(cluster.where.values()) == {"/b"}


def test_dh_3_what_does_not_fit_any_more_is_left_out_and_named(path: Path) -> None:
    cluster = standing()
    cluster.where[ONE] = "/c"
    del cluster.where[Replica(2, "t", 3)]
    for executes in (False, True):
        run = submission(cluster, path)
        with pytest.raises(PlanDoesNotFit) as error:
            run.execute() if executes else run.dry_run()
        assert "t-0-1: lies in /c, the plan was made for /a" in str(error.value)
        assert "t-3-2: the broker has it in no live log dir" in str(error.value)
    assert set(cluster.where.values()) == {"/b", "/c"}


def test_dh_3_a_disk_that_has_no_room_now_gets_no_copy(path: Path) -> None:
    cluster = standing(free=99)
    with pytest.raises(PlanDoesNotFit, match="/b has 99 bytes free, the replica has 100"):
        submission(cluster, path).execute()
    assert cluster.asked == []
    cluster.free = 149
    submission(cluster, path).execute()
    assert cluster.most == 1, "beside a copy there is no room for another"


def test_dh_3_topics_that_were_made_again_and_other_clusters_are_refused(path: Path) -> None:
    cluster = standing(topic_id="another")
    with pytest.raises(PlanDoesNotFit, match="made again: its id is another, in the snapshot id-of-t"):
        submission(cluster, path).execute()
    assert cluster.asked == []
    summary = json.loads((path / "summary.json").read_text())
    (path / "summary.json").write_text(json.dumps(summary | {"cluster_id": "c2"}))
    with pytest.raises(BadInput, match="is for cluster c2, this is cluster c1"):
        submission(cluster, path).dry_run()


def test_dh_3_a_copy_that_its_broker_ends_again_and_again_is_given_up(path: Path) -> None:
    class Forgetful(DiskCluster):
        def describe_brokers(self, asked: Any) -> Any:
            self.copies.pop(ONE, None)
            return super().describe_brokers(asked)

    cluster = Forgetful(standing().where)
    with pytest.raises(PlanDoesNotFit, match="t-0-1: its broker has ended the copy 3 times"):
        submission(cluster, path).execute()


@pytest.mark.parametrize("flag", [["--by-batch"], ["--reason", "x"], ["--max-moves", "3"]])
def test_dh_3_flags_about_moves_of_partitions_are_refused_for_a_plan_of_disks(
    path: Path, flag: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["submit", "--plan", str(path), "--bootstrap-server", "127.0.0.1:1", *flag]) == 2
    assert f"{flag[0]}: a plan of disks has no such thing" in capsys.readouterr().err


@pytest.mark.parametrize(("throttle", "said"), [([], "on\n"), (["--throttle", "5000"], "on, with the throttle\n")])
def test_dh_3_who_interrupts_is_told_of_a_throttle_only_where_there_is_one(
    path: Path,
    throttle: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cluster = standing(interrupt_at=1)
    monkeypatch.setattr(submit_command, "connected", lambda _: nullcontext(cluster))
    words = ["submit", "--plan", str(path), "--bootstrap-server", "h:1", "--execute", *throttle]
    assert main(words) == 130
    told = capsys.readouterr().err
    assert f"copies go {said}" in told
    assert ("take the throttle away" in told) == bool(throttle)


def places(client: ReassignmentClient, broker: int) -> dict[int, tuple[str | None, str | None]]:
    [found] = client.describe_log_dirs({broker: [("t", index) for index in range(6)]})
    assert found.error is None
    return {name.partition: (one.current, one.future) for name, one in found.replicas.items()}


async def test_dh_3_a_disk_of_a_simulated_broker_is_emptied_killed_on_the_way_and_given_back(
    zk: ZooKeeper, zk_connect: str, tmp_path: Path
) -> None:
    """Export, plan, submit with a throttle, kill it while copies run, go on, and take the plan back."""
    async with processes(tmp_path) as group:
        cluster = Cluster(group, zk, zk_connect, tmp_path)
        await cluster.server("one")
        await cluster.fleet("1,2", "t:6:2:4000000", session_ms=20_000, options=("--log-dirs", "2"))
        bootstrap = cluster.servers["one"].ready_value("bootstrap")
        with ReassignmentClient(bootstrap_servers=bootstrap) as client:
            before = await eventually(lambda: len(found := places(client, 1)) == 6 and found, within=60)
            first, other = sorted({current for current, _ in before.values() if current})
            snapshot, out = tmp_path / "snapshot", tmp_path / "p"
            assert await ours("export", "--bootstrap-server", bootstrap, "--out", str(snapshot)) == 0
            where = ("--snapshot", str(snapshot), "--out", str(out))
            assert await ours("plan", "disks", "--empty", f"1:{first}", *where) == 0
            moving = {move.partition for move in read_dir_moves(out)}
            assert moving == {index for index, (current, _) in before.items() if current == first}

            process = submit(bootstrap, out, "--throttle", "20000")  # so slow that no copy ends
            await eventually(lambda: any(future == other for _, future in places(client, 1).values()), within=60)
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert rate(client) == "20000"
            assert await ours("submit", "--plan", str(out), "--bootstrap-server", bootstrap, "--execute",
                              "--throttle", "50MB") == 0  # fmt: skip
            assert set(places(client, 1).values()) == {(other, None)}
            await eventually(lambda: rate(client) is None)

            assert await ours("submit", "--plan", str(out), "--bootstrap-server", bootstrap, "--undo", "--execute") == 0
            assert places(client, 1) == before


def rate(client: ReassignmentClient) -> str | None:
    found = client.describe_broker_configs([1])[1]
    assert not isinstance(found, KafkaError)
    return next((one.value for one in found if one.name == LOG_DIRS_RATE), None)


async def ours(*arguments: str) -> int:
    return await asyncio.to_thread(main, list(arguments))
