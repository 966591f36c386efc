"""Plans carried out on running clusters: killed and resumed, refused, stopped."""

import asyncio
import json
import random
import re
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_reassign_rpc.client import (
    KafkaError,
    MoveTerms,
    PartitionReassignment,
    ReassignmentClient,
    TopicPartition,
    Unreachable,
)
from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC, Resource
from kafka_reassign_rpc.client.reassignment_calls import Results
from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from kafka_reassign_rpc.pipeline.plans.batch_reader import read_plan
from kafka_reassign_rpc.pipeline.submission.stop_conditions import SubmitStopped
from kafka_reassign_rpc.pipeline.submission.submit_plan import Submission
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit, PollIntervals, ProgressOutput
from kafka_reassign_rpc.reassign_command.main import main as kafka_reassign
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.faults.cluster import Cluster
from tests.pipeline.plans import Moves, write_plan
from tests.pipeline.test_export import run
from tests.processes import processes
from tests.waiting import eventually

QUICK = PollIntervals(poll=0.1, health=0.3, mismatch=1.5, confirm=0.3, patience=20.0)

Assignment = dict[TopicPartition, tuple[int, ...]]


def assignment(client: ReassignmentClient, *topics: str) -> Assignment:
    """The replicas of each partition, as the node that answers knows them."""
    found: Assignment = {}
    for name, partitions in client.describe_topics(topics).items():
        assert not isinstance(partitions, KafkaError)
        found |= {TopicPartition(name, index): partition.replicas for index, partition in partitions.items()}
    return found


async def wait_until_assigned(client: ReassignmentClient, wanted: Assignment) -> None:
    """Until these partitions have these replicas and no move is in flight."""
    topics = {topic for topic, _ in wanted}
    await eventually(lambda: assignment(client, *topics).items() >= wanted.items(), within=60)
    await eventually(lambda: not client.list_partition_reassignments(), within=60)


def rotated_batches(client: ReassignmentClient, topic: str, count: int, size: int) -> list[Moves]:
    """Batches of `size` moves: the first `count` partitions of a topic, each to the next brokers."""
    standing = sorted(assignment(client, topic).items())[:count]
    moves = {name: ([broker % 6 + 1 for broker in replicas], replicas) for name, replicas in standing}
    names = list(moves)
    return [{name: moves[name] for name in names[at : at + size]} for at in range(0, count, size)]


def in_flight(client: ReassignmentClient) -> dict[TopicPartition, PartitionReassignment]:
    """The moves that do not wait in the queue."""
    return {name: move for name, move in client.list_partition_reassignments().items() if not move.is_waiting}


def targets(batches: Sequence[Moves]) -> Assignment:
    return {TopicPartition(*name): tuple(target) for batch in batches for name, (target, _) in batch.items()}


def before(batches: Sequence[Moves]) -> Assignment:
    return {TopicPartition(*name): tuple(expected) for batch in batches for name, (_, expected) in batch.items()}


def submission(client: ReassignmentClient, path: Path, said: list[str] | None = None, **options: Any) -> Submission:
    lines: list[str] = [] if said is None else said
    return Submission(client, path, read_plan(path), ProgressOutput(lines.append, lines.append), QUICK, **options)


def cluster_id(client: ReassignmentClient) -> str:
    return client.describe_everything().cluster_id


@pytest.mark.parametrize("way", [[], ["--by-batch"]], ids=["as_others_end", "by_batch"])
async def test_dp_4_a_dry_run_changes_nothing_and_execute_does_the_whole_plan(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path, way: list[str]
) -> None:
    batches = rotated_batches(client, "payments", 6, 2)
    path = write_plan(tmp_path / "p", cluster_id(client), *batches)
    arguments = ("submit", "--plan", str(path), "--bootstrap-server", bootstrap)

    code, out, err = await asyncio.to_thread(run, *arguments)

    assert (code, out) == (0, f"{path}: 6 moves to begin in 3 batches; --execute does it\n")
    assert err.splitlines() == [f"batch-000{n}: 0 done, 0 moving, 2 to begin" for n in (1, 2, 3)]
    await wait_until_assigned(client, before(batches))

    code, out, err = await asyncio.to_thread(run, *arguments, "--execute", *way)

    assert (code, out) == (0, f"{path}: done; 6 moves were begun now\n")
    done = [line for line in err.splitlines() if line.endswith(" done")]
    assert (done if way else sorted(done)) == [f"batch-000{n}: 2 done" for n in (1, 2, 3)]
    await wait_until_assigned(client, targets(batches))
    assert submission(client, path).execute() == 0

    code, out, err = await asyncio.to_thread(run, *arguments, "--undo", "--execute", *way)

    assert (code, out) == (0, f"{path}: done; 6 moves were begun now\n")
    assert err.count(" done") >= 3
    await wait_until_assigned(client, before(batches))


async def test_dh_2_the_command_that_opens_drained_brokers_does_so_as_it_is_printed(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    [batch] = rotated_batches(client, "payments", 1, 1)
    asked = {"brokers": [6], "topics": [], "to": []}
    path = write_plan(tmp_path / "p", cluster_id(client), batch, kind="drain", requested=asked)
    config = tmp_path / "my client.properties"
    config.write_text("client.id=night\n")
    connection = ("--bootstrap-server", bootstrap, "--command-config", str(config))
    client.cordon([6])

    code, _, err = await asyncio.to_thread(run, "submit", "--plan", str(path), *connection, "--undo", "--execute")

    assert code == 0, err
    [opens] = re.findall("`(.*)`", err)
    program, *words = shlex.split(opens)
    assert (program, words) == ("kafka-reassign", ["cordon", *connection, "--uncordon", "--brokers", "6"])
    assert await asyncio.to_thread(kafka_reassign, words) == 0
    assert client.cordoned() == frozenset()


@pytest.mark.parametrize("way", [[], ["--by-batch"]], ids=["as_others_end", "by_batch"])
async def test_dp_4_a_topic_that_was_deleted_and_made_again_is_left_alone(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path, way: list[str]
) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topic = NewTopic("made-again", num_partitions=1, replica_assignment=[[1, 2]])

    def is_made() -> bool:
        """A topic that is marked for deletion exists until it is gone."""
        error = admin.create_topics([topic])["made-again"].exception(30)
        assert error is None or error.args[0].name() == "TOPIC_ALREADY_EXISTS"
        return error is None

    def topic_id() -> str:
        return client.find_topics(["made-again"], of_controller=True)["made-again"].topic_id

    async def make() -> str:
        await eventually(lambda: asyncio.to_thread(is_made), within=30)
        await eventually(topic_id)
        return topic_id()

    first = await make()
    moves: Moves = {("made-again", 0): ([3, 2], (1, 2))}
    path = write_plan(tmp_path / "p", cluster_id(client), moves, topic_ids={"made-again": first})
    admin.delete_topics(["made-again"])["made-again"].result(30)
    second = await make()
    try:
        code, _, err = await asyncio.to_thread(
            run, "submit", "--plan", str(path), "--bootstrap-server", bootstrap, "--execute", *way
        )
        assert code != 0
        assert f"made-again-0: the topic was deleted and made again: its id is {second}, in the snapshot {first}" in err
        assert assignment(client, "made-again") == before([moves])
    finally:
        admin.delete_topics(["made-again"])["made-again"].result(30)
        await eventually(lambda: client.find_topics(["made-again"])["made-again"].error, within=30)


@pytest.mark.parametrize(
    "way", [[], pytest.param(["--by-batch"], marks=pytest.mark.gate)], ids=["as_others_end", "by_batch"]
)
async def test_dp_4_submit_killed_at_any_point_continues_from_what_the_cluster_shows(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path, way: list[str]
) -> None:
    batches = rotated_batches(client, "clicks", 9, 3)
    path = write_plan(tmp_path / "p", cluster_id(client), *batches, moves_per_broker=2)
    standing = throttled(client, "clicks")
    process = submit(bootstrap, path, "--throttle", "20000", *way)  # so slow that no move ends
    await eventually(lambda: in_flight(client), within=60)
    process.kill()
    process.wait()
    listed, moving = client.list_partition_reassignments(), in_flight(client)
    planned = targets(batches).keys()
    assert moving.keys() < planned, "killed while moves were under way, and others waited"
    if way:
        assert listed.keys() == targets(batches[:1]).keys()
    else:
        load = Counter(broker for move in moving.values() for broker in move.adding_replicas)
        assert max(load.values()) <= 2, "the cap of the plan"
    chance, were_under_way = random.Random(7), 0
    for _ in range(3):
        process = submit(bootstrap, path, "--throttle", "60000000", *way)
        try:
            await asyncio.to_thread(process.wait, chance.uniform(0.6, 2.5))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            were_under_way += bool(client.list_partition_reassignments())
        else:
            assert process.returncode == 0
    assert were_under_way, "it was killed while moves were under way"
    await asyncio.to_thread(submission(client, path, throttle=60_000_000, by_batch=bool(way)).execute)
    await wait_until_assigned(client, targets(batches))
    await eventually(lambda: throttled(client, "clicks") == standing)


async def test_dp_4_two_submits_of_one_plan_at_once_do_each_move_once(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    batches = rotated_batches(client, "payments", 6, 3)
    path = write_plan(tmp_path / "p", cluster_id(client), *batches, moves_per_broker=2)
    with ReassignmentClient(bootstrap_servers=bootstrap) as other:
        both = (submission(one, path, caps=PlanCaps(2, 4)).execute for one in (client, other))
        begun = await asyncio.gather(*(asyncio.to_thread(execute) for execute in both))
    assert all(count <= 6 for count in begun)
    assert sum(begun) >= 6
    await wait_until_assigned(client, targets(batches))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_dp_4_submit_that_is_interrupted_says_what_goes_on_and_how_to_cancel_it(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    [batch] = rotated_batches(client, "orders", 2, 2)
    path = write_plan(tmp_path / "my plan", cluster_id(client), batch)
    # The brokers know these throttles before the moves begin: one of submit may come after a whole small partition.
    rates = dict.fromkeys((LEADER_RATE, FOLLOWER_RATE), "20000")
    lists = dict.fromkeys((LEADER_REPLICAS, FOLLOWER_REPLICAS), "*")
    brokers = {(BROKER, str(broker)): rates for broker in range(1, 7)}
    assert not any(client.change_configs({**brokers, (TOPIC, "orders"): lists}).values())
    with submit(bootstrap, path, "--reason", "OPS-17", stderr=subprocess.PIPE) as process:
        # Not in the queue any more: submit takes back what waits there.
        moving = await eventually(lambda: (moves := in_flight(client)).keys() == batch.keys() and moves, within=60)
        process.send_signal(number)
        _, err = await asyncio.to_thread(process.communicate, timeout=60)
    assert process.returncode == code
    said, resume, cancel = err.decode().splitlines()[-3:]
    assert said == f"kafka-reassign-rpc submit: interrupted; 2 moves of {path} go on without it"
    assert resume == "  to continue the plan: run the same command again"
    assert {move.reason for move in moving.values()} == {"OPS-17; plan my plan (rebalance)"}
    _, _, command = cancel.partition(": ")
    program, *advised = shlex.split(command)
    assert program == "kafka-reassign"
    assert await asyncio.to_thread(kafka_reassign, advised) == 0
    assert not client.list_partition_reassignments()
    assert not any(client.change_configs({(TOPIC, "orders"): dict.fromkeys(lists)}).values())
    await wait_until_assigned(client, before([batch]))


def submit(bootstrap: str, path: Path, *arguments: str, stderr: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
    """The command as a process."""
    command = [sys.executable, "-m", "kafka_reassign_rpc.cli.main", "submit", "--plan", str(path), "--execute"]
    return subprocess.Popen([*command, "--bootstrap-server", bootstrap, *arguments], stderr=stderr)


def throttled(client: ReassignmentClient, topic: str) -> dict[Resource, dict[str, str | None]]:
    """Every throttle in the configs of the topic and of the brokers."""
    found: dict[Resource, dict[str, str | None]] = {}
    for resource in [(TOPIC, topic), *((BROKER, str(broker)) for broker in range(1, 7))]:
        configs = client.describe_configs([resource])[resource]
        assert not isinstance(configs, KafkaError), configs
        found[resource] = {one.name: one.value for one in configs if ".throttled." in one.name}
    return found


async def test_dp_4_a_throttle_ends_with_the_moves_even_if_submit_is_killed_and_a_resumed_submit_can_change_it(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    [batch] = rotated_batches(client, "orders", 4, 4)
    path = write_plan(tmp_path / "p", cluster_id(client), batch)
    assert not any(client.change_configs({(BROKER, "1"): {LEADER_RATE: "77000000"}}).values())
    standing = throttled(client, "orders")
    first = submit(bootstrap, path, "--throttle", "20000")  # 50 MB and more each: it would take an hour
    try:
        moving = await eventually(client.list_partition_reassignments, within=60)
        await eventually(
            lambda: throttled(client, "orders")[BROKER, "1"] == {LEADER_RATE: "20000", FOLLOWER_RATE: "20000"}
        )
    finally:
        first.kill()
        first.wait()
    assert {move.reason for move in moving.values()} == {"plan p (rebalance)"}
    lists = {LEADER_REPLICAS, FOLLOWER_REPLICAS}
    await eventually(lambda: set(throttled(client, "orders")[TOPIC, "orders"]) == lists)
    held = client.list_partition_reassignments().keys()  # a small move may end before its brokers know the throttle
    assert held
    assert held <= {TopicPartition(*name) for name in batch}

    arguments = ("--bootstrap-server", bootstrap, "--execute", "--throttle", "60000000")
    code, out, err = await asyncio.to_thread(run, "submit", "--plan", str(path), *arguments)

    assert (code, out) == (0, f"{path}: done; 0 moves were begun now\n"), err
    await wait_until_assigned(client, targets([batch]))
    await eventually(lambda: throttled(client, "orders") == standing)
    assert standing[BROKER, "1"] == {LEADER_RATE: "77000000"}
    code, _, err = run("submit", "--plan", str(path), *arguments[:3], "--throttle", "fast")
    assert (code, err) == (
        2,
        "kafka-reassign-rpc submit: --throttle: expected a whole number, got [hidden]; with a unit: 50MB, 500MiB\n",
    )


async def test_dp_4_by_batch_submit_names_partitions_that_changed_and_begins_no_later_batch(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    [batch] = rotated_batches(client, "orders", 2, 2)
    first, second = sorted(batch)
    stale = {second: (batch[second][0], [9, 9, 8]), ("gone", 0): ([1], [2])}
    path = write_plan(tmp_path / "p", cluster_id(client), {}, stale, {first: batch[first]})

    code, out, err = await asyncio.to_thread(run, "submit", "--plan", str(path), "--bootstrap-server", bootstrap)
    assert (code, out) == (4, "")
    with pytest.raises(PlanDoesNotFit) as refused:
        submission(client, path, by_batch=True).execute()
    for said in (err, str(refused.value)):
        assert "gone-0: the topic cannot be described: This server does not host this topic-partition." in said
        standing = list(batch[second][1])
        assert f"orders-{second[1]}: has the replicas {standing}, the plan was made for [9, 9, 8]" in said
    assert "p: 2 moves were left out; all others of the batch are done, those of later" in str(refused.value)
    await wait_until_assigned(client, before([batch]))

    other = write_plan(tmp_path / "other", "another", batch)
    code, _, err = await asyncio.to_thread(run, "submit", "--plan", str(other), "--bootstrap-server", bootstrap)
    assert code == 2
    assert "other: is for cluster another, this is cluster " in err
    target, expected = batch[first]
    absent = write_plan(tmp_path / "absent", cluster_id(client), {first: ([*target[:-1], 77], expected)})
    with pytest.raises(PlanDoesNotFit, match=f"orders-{first[1]}: broker 77 is not live"):
        submission(client, absent, by_batch=True).execute()


async def test_dp_4_submit_leaves_out_partitions_that_changed_since_the_plan_and_carries_out_the_others(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    [batch] = rotated_batches(client, "orders", 3, 3)
    first, second, third = sorted(batch)
    target, expected = batch[third]
    absent = {third: ([*target[:-1], 77], expected)}
    stale = {first: batch[first], second: (batch[second][0], [9, 9, 8]), ("gone", 0): ([1], [2])}
    path = write_plan(tmp_path / "p", cluster_id(client), absent, stale)

    arguments = ("--plan", str(path), "--bootstrap-server", bootstrap, "--execute")
    code, out, err = await asyncio.to_thread(run, "submit", *arguments)

    assert (code, out) == (4, "")
    assert "p: 3 moves were left out; all others are done:\n" in err
    assert "gone-0: the topic cannot be described: This server does not host this topic-partition." in err
    assert f"orders-{second[1]}: has the replicas {list(batch[second][1])}, the plan was made for [9, 9, 8]" in err
    assert f"orders-{third[1]}: broker 77 is not live" in err
    assert "batch-0002: 1 done, 2 left out" in err
    await wait_until_assigned(
        client, targets([{first: batch[first]}]) | before([{second: batch[second], third: batch[third]}])
    )


class RacingClient(ReassignmentClient):
    """Changes one partition of a batch just before it sends the batch; or loses the answer after it."""

    victim: tuple[str, int]
    to: Sequence[int]
    lost = False

    def alter_partition_reassignments(self, moves: Mapping[Any, Any], **options: Any) -> Results:
        if any(isinstance(one, MoveTerms) and one.expected is not None for one in moves.values()) and not self.lost:
            super().alter_partition_reassignments({self.victim: self.to})
        results = super().alter_partition_reassignments(moves, **options)
        if self.lost:
            self.lost = False
            raise Unreachable("The answer is lost.")
        return results


async def test_860_5_a_change_in_the_last_moment_is_refused_and_the_other_moves_go_on(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    [batch] = rotated_batches(client, "orders", 3, 3)
    path = write_plan(tmp_path / "p", cluster_id(client), batch)
    victim, *others = sorted(batch)
    with RacingClient(bootstrap_servers=bootstrap) as racing:
        racing.victim, racing.to = victim, batch[victim][1][::-1]
        with pytest.raises(PlanDoesNotFit, match="p: 1 move was left out; all others are done:") as refused:
            await asyncio.to_thread(submission(racing, path).execute)
    assert str(list(batch[victim][1][::-1])) in str(refused.value)
    changed = {TopicPartition(*victim): tuple(batch[victim][1][::-1])}
    await wait_until_assigned(client, changed | targets([{name: batch[name] for name in others}]))


async def test_dp_4_a_lost_answer_is_no_lost_batch(client: ReassignmentClient, bootstrap: str, tmp_path: Path) -> None:
    [batch] = rotated_batches(client, "orders", 2, 2)
    path = write_plan(tmp_path / "p", cluster_id(client), batch)
    said: list[str] = []
    with RacingClient(bootstrap_servers=bootstrap) as racing:
        racing.lost = True
        assert await asyncio.to_thread(submission(racing, path, said).execute) == 2
    assert "p: The answer is lost. Checking whether the moves have begun." in said
    await wait_until_assigned(client, targets([batch]))


async def test_dp_4_submit_stops_when_partitions_are_under_replicated_or_a_broker_is_lost_and_continues_later(
    zk: ZooKeeper, zk_connect: str, tmp_path: Path
) -> None:
    async with processes(tmp_path) as group:
        cluster = Cluster(group, zk, zk_connect, tmp_path)
        await cluster.server("one")
        lag = ("--replica-lag-time-max-ms", "2000")
        await cluster.fleet("1,2,3", "slow:2:1:3000000", bandwidth=1_000_000, options=lag)
        fragile = await cluster.fleet("4", "other:1:1:10", session_ms=20_000)
        bootstrap = cluster.servers["one"].ready_value("bootstrap")
        # If the frozen node is asked, the client asks another one soon.
        with ReassignmentClient(bootstrap_servers=bootstrap, request_timeout_ms=3_000) as client:

            def ready() -> Assignment | None:
                everything = client.describe_everything()
                topics = {topic.name: topic.partitions for topic in everything.topics}
                led = [p.leader > 0 for found in topics.values() for p in found.values()]
                if len(led) == 3 and all(led) and {4} <= {node.id for node in everything.nodes}:
                    return {TopicPartition("slow", index): p.replicas for index, p in topics["slow"].items()}
                return None

            standing = await eventually(lambda: asyncio.to_thread(ready), within=60)
            # Broker 4 gets a follower, so that its loss matters; it leads nothing, so that its leader tells of it.
            for replicas in ((1,), (1, 4)):
                await eventually(partial(is_accepted, client, {TopicPartition("other", 0): replicas}))
                await wait_until_assigned(client, {TopicPartition("other", 0): replicas})
            moves = {name: ([replicas[0] % 3 + 1], replicas) for name, replicas in standing.items()}
            names = sorted(moves)
            path = write_plan(tmp_path / "p", cluster_id(client), *({name: moves[name]} for name in names))

            def execute(*, throttle: int | None, accept_health: bool = False) -> BaseException | None:
                try:
                    submission(client, path, throttle=throttle, caps=PlanCaps(1, 1)).execute(
                        accept_health=accept_health
                    )
                except SubmitStopped as error:
                    return error
                return None

            # So slow that no move ends before submit stops.
            running = asyncio.create_task(asyncio.to_thread(execute, throttle=20_000))
            await eventually(lambda: asyncio.to_thread(in_flight, client), within=60)
            fragile.freeze()
            behind = str(await asyncio.wait_for(running, 100))
            assert "1 partition that does not move is under-replicated: other-0. " in behind  # and it may be lost
            fragile.thaw()
            await eventually(lambda: asyncio.to_thread(in_sync, client, "other", 2), within=60)

            running = asyncio.create_task(asyncio.to_thread(execute, throttle=20_000))
            await fragile.kill()
            await zk.delete(f"{znode_paths.BROKER_IDS}/4")  # as ZooKeeper does when its session has run out
            lost = str(await asyncio.wait_for(running, 100))
            assert "broker 4 lost" in lost
            second = TopicPartition(*names[1])
            assert second not in client.list_partition_reassignments(), "nothing more was begun"
            assert json.loads((path / "submit.json").read_text())["health"]["holding"]
            command = ("submit", "--plan", str(path), "--bootstrap-server", bootstrap, "--execute")
            code, out, err = await asyncio.to_thread(run, *command)
            assert (code, out) == (3, "")
            assert "kafka-reassign-rpc submit: broker 4 lost" in err
            assert err.splitlines()[-1].endswith("under-way.json --cancel")
            assert await asyncio.to_thread(execute, throttle=0, accept_health=True) is None
            await wait_until_assigned(client, {name: tuple(target) for name, (target, _) in moves.items()})


def is_accepted(client: ReassignmentClient, targets: Assignment) -> bool:
    return not any(client.alter_partition_reassignments(targets).values())


def in_sync(client: ReassignmentClient, topic: str, replicas: int) -> bool:
    """Whether partition 0 of a topic has this number of in-sync replicas."""
    found = client.describe_topics([topic])[topic]
    return not isinstance(found, KafkaError) and len(found[0].isr) == replicas
