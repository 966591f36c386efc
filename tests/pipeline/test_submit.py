"""Plans carried out on clusters that run here: killed and resumed, refused, stopped."""

import asyncio
import json
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.client import KafkaError, ReassignmentClient, TopicPartition, Unreachable, throttles
from kafka_reassign_rpc.client.moves import Results
from kafka_reassign_rpc.pipeline.plandir import read_plan
from kafka_reassign_rpc.pipeline.submitting import DoesNotFit, Pace, Show, Stopped, Submission
from kafka_reassign_rpc.zookeeper.session import ZooKeeper
from tests.faults.cluster import Cluster
from tests.pipeline.plans import Moves, write_plan
from tests.pipeline.test_export import run
from tests.processes import processes
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(300)

QUICK = Pace(poll=0.1, health=0.3, settle=1.5, patience=20.0)

Assignment = dict[tuple[str, int], tuple[int, ...]]


def assignment(client: ReassignmentClient, *topics: str) -> Assignment:
    """What stands in the cluster, once nothing moves and the node that is asked knows it."""
    found: Assignment = {}
    for name, partitions in client.describe_topics(topics).items():
        assert not isinstance(partitions, KafkaError)
        found |= {(name, index): partition.replicas for index, partition in partitions.items()}
    return found


async def settled(client: ReassignmentClient, wanted: Assignment) -> None:
    topics = {topic for topic, _ in wanted}
    await eventually(lambda: assignment(client, *topics).items() >= wanted.items(), within=60)
    assert client.list_partition_reassignments() == {}


def turned(client: ReassignmentClient, topic: str, count: int, size: int) -> list[Moves]:
    """Batches of `size` moves: the first `count` partitions of a topic, each to the next brokers."""
    standing = sorted(assignment(client, topic).items())[:count]
    moves = {name: ([broker % 6 + 1 for broker in replicas], replicas) for name, replicas in standing}
    names = list(moves)
    return [{name: moves[name] for name in names[at : at + size]} for at in range(0, count, size)]


def targets(batches: Sequence[Moves]) -> Assignment:
    return {name: tuple(target) for batch in batches for name, (target, _) in batch.items()}


def before(batches: Sequence[Moves]) -> Assignment:
    return {name: tuple(expected) for batch in batches for name, (_, expected) in batch.items()}


def submission(client: ReassignmentClient, path: Path, said: list[str] | None = None) -> Submission:
    lines = [] if said is None else said
    return Submission(client, path, read_plan(path), Show(lines.append, lines.append), QUICK)


def cluster_id(client: ReassignmentClient) -> str:
    return client.describe_everything().cluster_id


async def test_dp_4_a_dry_run_changes_nothing_and_execute_does_one_batch_after_the_other(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    batches = turned(client, "payments", 6, 2)
    path = write_plan(tmp_path / "p", cluster_id(client), *batches)
    arguments = ("submit", "--plan", str(path), "--bootstrap-server", bootstrap)

    code, out, err = await asyncio.to_thread(run, *arguments)

    assert (code, out) == (0, f"{path}: 6 moves to begin in 3 batches; --execute does it\n")
    assert err.splitlines() == [f"batch-000{n}: 0 done, 0 moving, 2 to begin" for n in (1, 2, 3)]
    await settled(client, before(batches))

    code, out, err = await asyncio.to_thread(run, *arguments, "--execute")

    assert (code, out) == (0, f"{path}: done; 6 moves were begun now\n")
    assert [line for line in err.splitlines() if line.endswith(" done")] == [f"batch-000{n}: 2 done" for n in (1, 2, 3)]
    await settled(client, targets(batches))
    assert submission(client, path).execute() == 0


async def test_dp_4_killed_at_any_point_it_goes_on_from_what_the_cluster_shows(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    batches = turned(client, "clicks", 9, 3)
    path = write_plan(tmp_path / "p", cluster_id(client), *batches)
    command = [sys.executable, "-m", "kafka_reassign_rpc.cli.main", "submit", "--plan", str(path)]
    chance = random.Random(7)
    for _ in range(3):
        process = subprocess.Popen([*command, "--bootstrap-server", bootstrap, "--execute"], stderr=subprocess.DEVNULL)
        try:
            await asyncio.to_thread(process.wait, chance.uniform(0.6, 2.5))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        else:
            assert process.returncode == 0
    await asyncio.to_thread(submission(client, path).execute)
    await settled(client, targets(batches))


async def test_dp_4_a_plan_that_is_older_than_the_cluster_is_refused_by_name_and_nothing_of_the_batch_begins(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    [batch] = turned(client, "orders", 2, 2)
    first, second = sorted(batch)
    stale = {first: batch[first], second: (batch[second][0], [9, 9, 8]), ("gone", 0): ([1], [2])}
    path = write_plan(tmp_path / "p", cluster_id(client), {}, stale)

    code, out, err = await asyncio.to_thread(run, "submit", "--plan", str(path), "--bootstrap-server", bootstrap)
    assert (code, out) == (4, "")
    with pytest.raises(DoesNotFit) as refused:
        submission(client, path).execute()
    for said in (err, str(refused.value)):
        assert "gone-0: the topic cannot be seen: This server does not host this topic-partition." in said
        standing = list(batch[second][1])
        assert f"orders-{second[1]}: has the replicas {standing}, the plan was made for [9, 9, 8]" in said
    assert "batch-0002 does not fit the cluster, nothing more of it was begun:" in str(refused.value)
    await settled(client, before([batch]))

    other = write_plan(tmp_path / "other", "another", batch)
    code, _, err = await asyncio.to_thread(run, "submit", "--plan", str(other), "--bootstrap-server", bootstrap)
    assert code == 2
    assert "other: is for cluster another, this is cluster " in err
    absent = write_plan(tmp_path / "absent", cluster_id(client), {first: ([1, 2, 77], batch[first][1])})
    with pytest.raises(DoesNotFit, match=f"orders-{first[1]}: broker 77 is not there"):
        submission(client, absent).execute()


class Racing(ReassignmentClient):
    """Just before a batch is sent, somebody else changes one partition of it."""

    victim: tuple[str, int]
    to: Sequence[int]
    lost = False

    def alter_partition_reassignments(self, targets: Mapping[Any, Any], **options: Any) -> Results:
        if options.get("expected_replicas") and not self.lost:
            super().alter_partition_reassignments({self.victim: self.to})
        results = super().alter_partition_reassignments(targets, **options)
        if self.lost:
            self.lost = False
            raise Unreachable("The answer is lost.")
        return results


async def test_860_5_what_somebody_changes_in_the_last_moment_is_refused_and_the_rest_of_the_batch_taken_back(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    [batch] = turned(client, "orders", 3, 3)
    path = write_plan(tmp_path / "p", cluster_id(client), batch)
    victim, *others = sorted(batch)
    client.throttle_moves(throttles.moves({}, targets([batch]), before([batch])), 1000)
    with Racing(bootstrap_servers=bootstrap) as racing:
        racing.victim, racing.to = victim, batch[victim][1][::-1]
        with pytest.raises(DoesNotFit) as refused:
            await asyncio.to_thread(submission(racing, path).execute)
    text = str(refused.value)
    assert "batch-0001: 1 moves were refused; what else had begun of it was cancelled:" in text
    assert f"{TopicPartition(*victim)}: " in text
    assert str(list(batch[victim][1][::-1])) in text
    await settled(client, {victim: tuple(batch[victim][1][::-1])} | {name: tuple(batch[name][1]) for name in others})


async def test_dp_4_a_lost_answer_is_no_lost_batch(client: ReassignmentClient, bootstrap: str, tmp_path: Path) -> None:
    [batch] = turned(client, "orders", 2, 2)
    path = write_plan(tmp_path / "p", cluster_id(client), batch)
    said: list[str] = []
    with Racing(bootstrap_servers=bootstrap) as racing:
        racing.lost = True
        assert await asyncio.to_thread(submission(racing, path, said).execute) == 2
    assert "batch-0001: The answer is lost. Looking what has become of it." in said
    await settled(client, targets([batch]))


async def test_dp_4_it_stops_when_a_broker_is_lost_and_goes_on_when_it_is_back(
    zk: ZooKeeper, zk_connect: str, tmp_path: Path
) -> None:
    async with processes(tmp_path) as group:
        cluster = Cluster(group, zk, zk_connect, tmp_path)
        await cluster.server("one")
        await cluster.fleet("1,2,3", "slow:2:1:3000000", bandwidth=1_000_000)
        fragile = await cluster.fleet("4", "other:1:1:10")
        bootstrap = cluster.servers["one"].told("bootstrap")
        with ReassignmentClient(bootstrap_servers=bootstrap) as client:

            def ready() -> Assignment | None:
                everything = client.describe_everything()
                topics = {topic.name: topic.partitions for topic in everything.topics}
                led = [p.leader > 0 for found in topics.values() for p in found.values()]
                if len(led) == 3 and all(led) and {4} <= {node.id for node in everything.nodes}:
                    return {("slow", index): p.replicas for index, p in topics["slow"].items()}
                return None

            standing = await eventually(lambda: asyncio.to_thread(ready), within=60)
            # What the fleets do not hold goes to broker 4, so that its loss is noticed.
            on_four = {("other", 0): [4]}
            await eventually(lambda: not any(client.alter_partition_reassignments(on_four).values()))
            await settled(client, {("other", 0): (4,)})
            moves = {name: ([replicas[0] % 3 + 1], replicas) for name, replicas in standing.items()}
            names = sorted(moves)
            # So slow that nothing of it ends before the loss is noticed.
            to = {TopicPartition(*name): target for name, (target, _) in moves.items()}
            slowly = throttles.moves({}, to, {TopicPartition(*name): found for name, found in standing.items()})
            assert not any(client.throttle_moves(slowly, 20_000).values())
            path = write_plan(tmp_path / "p", cluster_id(client), *({name: moves[name]} for name in names))
            outcome: list[BaseException] = []

            def execute() -> None:
                try:
                    submission(client, path).execute()
                except BaseException as error:
                    outcome.append(error)

            thread = threading.Thread(target=execute)
            thread.start()
            await eventually(lambda: asyncio.to_thread(client.list_partition_reassignments))
            await fragile.kill()
            await asyncio.to_thread(thread.join, 100)

            [stopped] = outcome
            assert isinstance(stopped, Stopped), stopped
            assert "broker 4 lost" in str(stopped)
            second = TopicPartition(*names[1])
            assert second not in client.list_partition_reassignments(), "nothing more was begun"
            with pytest.raises(Stopped):
                await asyncio.to_thread(submission(client, path).execute)
            rates = dict.fromkeys(("leader.replication.throttled.rate", "follower.replication.throttled.rate"))
            assert not any(client.change_configs({(4, str(broker)): rates for broker in (1, 2, 3)}).values())
            assert json.loads((path / "submit.json").read_text())["health"]["holding"]
            await asyncio.to_thread(submission(client, path).execute, anew=True)
            await settled(client, {name: tuple(target) for name, (target, _) in moves.items()})
