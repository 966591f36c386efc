"""Both kinds of `submit` end alike: with 0 only where what the plan empties is empty."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.cli.pipeline_jobs import Status
from kafka_reassign_rpc.cli.submit_command import Submitted, carry_out
from kafka_reassign_rpc.client import KafkaError, Replica, Unreachable
from kafka_reassign_rpc.pipeline.disks.disk_plan_files import DiskRequest
from kafka_reassign_rpc.pipeline.disks.plan_disks_job import DiskJob
from kafka_reassign_rpc.pipeline.disks.plan_disks_job import run as plan_disks
from kafka_reassign_rpc.pipeline.disks.submit_disks import DiskSubmission
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.submission.submit_settings import PollIntervals, ProgressOutput
from tests.pipeline.disk_cluster import DiskCluster
from tests.pipeline.plans import write_plan
from tests.pipeline.simulated_cluster import SimulatedCluster, moves, submission

AT_ONCE = PollIntervals(poll=0, health=0, patience=0.05)
EXECUTE = Namespace(execute=True, undo=False, accept_health=False)
Make = Callable[[Path, list[str], Mapping[int, str]], Submitted]


def of_a_broker(path: Path, said: list[str], came: Mapping[int, str]) -> Submitted:
    """Broker 1 is drained; replicas that came meanwhile have nowhere to go."""
    cluster = SimulatedCluster({0: (1, 2)} | dict.fromkeys(came, (1, 2, 3)), {1, 2, 3})
    write_plan(path, "c1", moves(p0=((3, 2), (1, 2))), kind="drain", requested={"brokers": [1], "topics": []})
    return submission(cluster, path, said=said)


def disks(path: Path, said: list[str], cluster: DiskCluster, topics: list[str]) -> Submitted:
    with SnapshotWriter(path / "snapshot") as writer:
        writer.brokers.add((1, None, "h", 1, None, None, True))
        writer.log_dirs.extend((1, log_dir, True, None, None, None) for log_dir in ("/a", "/b"))
        writer.topics.add(("t", "id-of-t"))
        writer.partitions.add(("t", 0, [1], 1, [1], [], [], 100))
        writer.replicas.add(("t", 0, 1, 100, "/a", False))
        writer.finish(SnapshotMeta("c1", 5))
    plan_disks(DiskJob(path / "snapshot", path / "p", DiskRequest(empty={1: ["/a"]}, topics=topics)))
    client: Any = cluster
    return DiskSubmission(client, path / "p", ProgressOutput(lambda _: None, said.append), AT_ONCE)


def of_a_disk(path: Path, said: list[str], came: Mapping[int, str]) -> Submitted:
    where = {Replica(1, "t", 0): "/a"} | {Replica(1, "t", index): log_dir for index, log_dir in came.items()}
    return disks(path, said, DiskCluster(where), [])


KINDS = pytest.mark.parametrize(("make", "place"), [(of_a_broker, "broker 1"), (of_a_disk, "log dir /a of broker 1")])


@KINDS
def test_dh_2_and_dh_3_what_is_not_empty_at_the_end_ends_with_its_own_exit_code_and_what_to_do(
    make: Make, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    run = make(tmp_path, said, {7: "/a", 8: "/a"})
    assert carry_out(EXECUTE, tmp_path, run, Status(), goes_on=list, interrupted=list) == 5
    told = capsys.readouterr()
    text = f"the plan is carried out (1 move was begun now), but {place} is not empty"
    assert (told.out, told.err.splitlines()[-1]) == ("", f"kafka-reassign-rpc submit: {text}")
    assert said[-5].startswith(f"{place} is not empty: it has 2 replicas (t-7")
    assert [line.split()[1] for line in said if line.startswith("  kafka-reassign-rpc")] == ["export", "plan", "submit"]


@KINDS
def test_dh_2_and_dh_3_what_is_empty_at_the_end_ends_with_0(
    make: Make, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    assert carry_out(EXECUTE, tmp_path, make(tmp_path, said, {}), Status(), goes_on=list, interrupted=list) == 0
    assert f"{place} is empty" in said
    assert capsys.readouterr().out == f"{tmp_path}: done; 1 move was begun now\n"


def test_dh_3_a_plan_of_some_topics_alone_does_not_say_that_the_disk_is_empty(tmp_path: Path) -> None:
    said: list[str] = []
    run = disks(tmp_path, said, DiskCluster({Replica(1, "t", 0): "/a", Replica(1, "t", 9): "/a"}), ["t"])
    assert run.execute() == 1
    assert said == []


def test_dh_3_a_disk_of_a_broker_that_gives_no_answer_at_the_end_is_not_said_to_be_empty(tmp_path: Path) -> None:
    class Silent(DiskCluster):
        def describe_brokers(self, asked: Any) -> Any:
            if not self.copies and self.where[Replica(1, "t", 0)] == "/b":
                return {1: Unreachable("It is gone.")}
            return super().describe_brokers(asked)

    said: list[str] = []
    with pytest.raises(KafkaError, match=r"It is gone\."):
        disks(tmp_path, said, Silent({Replica(1, "t", 0): "/a"}), []).execute()
    assert not [line for line in said if "empty" in line]
