"""`kafka-reassign-rpc check --without`, of a fleet of which a broker is really killed."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.brokers.departure import MOST_NAMED, Departure, Losses, Room
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.preflight import departure_findings
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.departure_findings import default_min_isr
from kafka_reassign_rpc.preflight.findings import Finding, Level
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.core.build import broker, cluster, not_moving
from tests.faults.cluster import Cluster
from tests.http_client import get
from tests.processes import processes
from tests.waiting import eventually

from .command import every_znode, run


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[Cluster]:
    """Brokers 1 and 2 in rack a, 3 and 4 in b, each pair a process; a server is the controller."""
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(tmp_path / "zookeeper"))
        zk = await stack.enter_async_context(ZooKeeper(zookeeper.address))
        made = Cluster(await stack.enter_async_context(processes(tmp_path)), zk, zookeeper.address, tmp_path)
        await made.server("a", "--metrics-listener", "127.0.0.1:0", "--status-page", "full")
        for ids, racks in (("1,2,3", {1: "a", 2: "a", 3: "b"}), ("4", {4: "b"})):
            await made.fleet(
                ids, *(("t:6:2:1000", "u:1:1:1000") if "1" in ids else ()), racks=racks, options=("--disk", "1GiB")
            )
        yield made


async def _asked(world: Cluster, *brokers: int) -> tuple[int, dict[str, Any]]:
    ids = ",".join(map(str, brokers))
    ended = await run("check", "--zookeeper-connect", world.connect, "--without", ids, "--json")
    assert ended.err == ""
    return ended.code, ended.document


async def _told_by_the_server(world: Cluster, *brokers: int) -> dict[str, Any]:
    page = world.servers["a"].ready_value("metrics")
    answer = await get(page, f"/api/v1/departure?brokers={','.join(map(str, brokers))}")
    assert answer.status == 200, answer.body
    found: dict[str, Any] = json.loads(answer.body)
    return found


async def _partitions(world: Cluster) -> dict[str, tuple[list[int], list[int]]]:
    """Replicas and ISR of each partition, read from the znodes."""
    found = {}
    for topic in await world.zk.children(znode_paths.TOPICS):
        for index, replicas in json.loads((await world.zk.get(znode_paths.topic(topic)))[0])["partitions"].items():
            state = json.loads((await world.zk.get(znode_paths.partition_state(topic, int(index))))[0])
            found[f"{topic}-{index}"] = replicas, state["isr"]
    return found


async def test_dh_6_the_check_tells_what_is_lost_and_after_a_kill_it_is(world: Cluster) -> None:
    await ConfigStore(world.zk).alter("topics", "t", lambda _: {"min.insync.replicas": "2"})
    before = await every_znode(world.zk)
    here = await _partitions(world)
    code, told = await _asked(world, 1)
    lost = told["departure"]
    on_1 = sorted(name for name, (replicas, _) in here.items() if 1 in replicas)
    alone = [name for name in on_1 if here[name][0] == [1]]
    assert told["brokers"] == [1]
    assert lost["replicas"] == len(on_1)
    assert lost["last_in_sync"] == {"count": len(alone), "partitions": alone, "left_out": 0}
    assert lost["below_min_isr"]["partitions"] == on_1
    assert lost["under_replicated"]["partitions"] == on_1
    assert (code, told["may_go"]) == (1, False)
    assert lost["room"]["enough"] is True, "the fleet tells its bytes"

    async def agrees() -> bool:
        served = await _told_by_the_server(world, 1)
        return {**served["departure"], "room": None} == {**lost, "room": None} and served["may_go"] is False

    await eventually(agrees)
    # 4 holds nothing yet: it may go, and 99 is no broker
    code, told = await _asked(world, 4)
    assert (code, told["may_go"], told["departure"]["replicas"]) == (0, True, 0)
    code, told = await _asked(world, 99)
    assert (code, told["may_go"]) == (1, False)
    assert [one["text"] for one in told["findings"] if one["level"] == "UNSAFE"] == [
        "99: no such broker is registered or holds a replica"
    ]
    assert await every_znode(world.zk) == before, "the check has changed something"

    await ConfigStore(world.zk).alter("topics", "t", lambda _: {})
    code, promised = await _asked(world, 1, 2, 3)
    assert code == 1
    await world.fleets["1,2,3"].kill()
    await eventually(lambda: _registered(world, ["4"]))

    async def offline() -> bool:
        states = [await world.zk.get(znode_paths.partition_state(*_split(name))) for name in here]
        return [json.loads(one[0])["leader"] for one in states] == [-1] * len(states)

    await eventually(offline)
    assert promised["departure"]["last_in_sync"]["partitions"] == sorted(here)
    served = await _told_by_the_server(world, 4)
    assert served["may_go"] is True, "what is offline already is not lost with 4"
    code, told = await _asked(world, 1)
    assert code == 1, "its last in-sync replicas are on brokers that are gone"
    assert "1 is gone already" in {one["text"] for one in told["findings"]}


def _split(name: str) -> tuple[str, int]:
    topic, _, index = name.rpartition("-")
    return topic, int(index)


async def _registered(world: Cluster, ids: list[str]) -> bool:
    return sorted(await world.zk.children(znode_paths.BROKER_IDS)) == ids


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--without", "3;7"], "--without: expected ids of brokers"),
        (["--without", ""], "--without: expected ids of brokers"),
        (["--without", "03"], "--without: expected ids of brokers"),
        (["--without", "3", "--for-kraft"], "--for-kraft and --without ask two questions"),
    ],
)
async def test_dh_6_brokers_that_make_no_sense_are_a_wrong_flag(arguments: list[str], text: str) -> None:
    ended = await run("check", "--zookeeper-connect", "127.0.0.1:1", *arguments)
    assert ended.code == 2
    assert text in ended.err


async def test_dh_6_without_zookeeper_no_broker_may_go() -> None:
    connect = ("--zookeeper-connect", "127.0.0.1:1", "--timeout-ms", "500")
    ended = await run("check", *connect, "--without", "1", "--json")
    assert (ended.code, ended.document["may_go"], ended.document["departure"]) == (1, False, None)
    ended = await run("check", *connect, "--without", "1")
    assert ended.out.splitlines()[-1] == "It is NOT safe for these brokers to go."


ROOM = Room(10, 20, enough=True, silent=[])


def answer(id_: int, problem: str = "", **configs: str) -> BrokerAnswer:
    one = broker(id_)
    return BrokerAnswer(one, one.endpoints[0], problem, configs=configs)


def judged(losses: Losses, room: Room = ROOM, answers: tuple[BrokerAnswer, ...] = ()) -> dict[str, Finding]:
    here = cluster(not_moving(1, 2), live=(1, 2, 3))
    return {one.subject: one for one in departure_findings.findings(here, Departure((1,), losses, room), answers)}


def test_dh_6_the_text_names_the_first_and_the_document_says_what_it_leaves_out() -> None:
    losses = Losses()
    for index in range(MOST_NAMED + 50):
        losses.last_in_sync.add(TopicPartition("t", index), MOST_NAMED)
    one = judged(losses)["last-in-sync"]
    assert one.level is Level.UNSAFE
    assert one.text.startswith(
        "150 partitions lose the last in-sync replica (t-0, t-1, t-2, t-3, t-4 and 145 more): nobody"
    )
    told = departure_findings.document((1,), Departure((1,), losses, ROOM))["departure"]["last_in_sync"]
    assert (told["count"], len(told["partitions"]), told["left_out"]) == (150, MOST_NAMED, 50)


def test_dh_6_a_broker_that_does_not_answer_speaks_for_no_other() -> None:
    found = judged(Losses(), answers=(answer(1, "refused"), answer(2, "refused"), answer(3)))
    assert found["brokers"].level is Level.UNSAFE
    assert found["brokers"].text.startswith("2 (refused) does not answer")
    assert "brokers" not in judged(Losses(), answers=(answer(1, "refused"), answer(2), answer(3)))


@pytest.mark.parametrize(
    ("room", "level"),
    [
        (ROOM, Level.OK),
        (Room(30, 20, enough=False, silent=[]), Level.UNSAFE),
        (Room(30, -1, enough=None, silent=[2]), Level.WARNING),
    ],
)
def test_dh_6_room_that_is_not_known_is_a_warning_and_no_room_is_unsafe(room: Room, level: Level) -> None:
    losses = Losses()
    losses.replicas = 1
    assert judged(losses, room)["room"].level is level


def test_dh_6_the_highest_min_isr_of_any_broker_counts() -> None:
    name = {"min.insync.replicas": "3"}
    assert default_min_isr([answer(1), answer(2, **name), answer(3, **{"min.insync.replicas": "2"})]) == 3
    assert default_min_isr([answer(1, "silent")]) == 1


def test_dh_6_brokers_that_do_not_tell_their_min_isr_leave_it_unknown() -> None:
    told = {"min.insync.replicas": "1"}
    found = judged(Losses(), answers=(answer(1, **told), answer(2), answer(3, "refused")))
    assert (found["configs"].level, found["configs"].text[:30]) == (Level.UNSAFE, "2 does not report min.insync.r")
    assert "configs" not in judged(Losses(), answers=(answer(1, **told), answer(2, **told), answer(3, **told)))
