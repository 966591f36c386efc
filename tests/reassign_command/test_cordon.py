"""`kafka-reassign cordon`: brokers that get no new replica, on a cluster whose controller places topics."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.cluster import Cluster, cluster
from tests.reassign_command.run_command import kafka_reassign
from tests.stock.tools import Output

UNKNOWN = "There is no broker 7 (known: 1, 2, 3). The cordon holds all the same."
NOT_THERE = "Nothing to open: there is no broker 9 (known: 2, 7) in the list."


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect, brokers=(1, 2, 3)) as made:
        yield made


async def cordon(world: Cluster, *args: str) -> Output:
    return await kafka_reassign("cordon", "--bootstrap-server", world.bootstrap, *args)


async def creation(world: Cluster, name: str, factor: int) -> tuple[int, str | None]:
    """What becomes of a topic with six partitions that the controller has to place."""
    wanted = CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=6, replication_factor=factor, assignments=[], configs=[]
    )
    answer = await world.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000, validate_only=False), 5)
    [topic] = answer.topics
    return topic.error_code, topic.error_message


async def placed(world: Cluster, name: str, factor: int) -> set[int]:
    """The brokers that hold the new topic."""
    assert await creation(world, name, factor) == (0, None)
    data, _ = await world.zk.get(znode_paths.topic(name))
    return {broker for replicas in json.loads(data)["partitions"].values() for broker in replicas}


async def test_dh_2_operators_cordon_and_uncordon_brokers_and_new_topics_stay_away_from_them(world: Cluster) -> None:
    steps = [
        ((), 0, ["The list of cordoned brokers is empty."]),
        (("--brokers", "2"), 0, ["Cordoned: 2."]),
        (("--brokers", "7,2"), 1, ["Cordoned: 2,7.", UNKNOWN]),
        (("--brokers", "9", "--uncordon"), 1, [NOT_THERE]),
        (("--brokers", "7", "--uncordon"), 0, ["Cordoned: 2."]),
        ((), 0, ["Cordoned: 2."]),
    ]
    for args, code, lines in steps:
        done = await cordon(world, *args)
        assert (done.code, done.lines, done.err) == (code, lines, "")
    shown = await cordon(world, "--json")
    assert json.loads(shown.out) == {"cordoned": [2]}
    assert json.loads((await world.zk.get(znode_paths.SETTINGS))[0])["config"] == {"cordoned.brokers": "2"}
    assert await placed(world, "new", 2) == {1, 3}
    refused = await creation(world, "large", 3)
    assert refused == (38, "Replication factor: 3 larger than available brokers: 2. 1 other is cordoned.")
    done = await cordon(world, "--brokers", "2", "--uncordon")
    assert (done.code, done.lines) == (0, ["The list of cordoned brokers is empty."])
    assert json.loads((await world.zk.get(znode_paths.SETTINGS))[0])["config"] == {}, "nothing is left set"
    assert await placed(world, "large", 3) == {1, 2, 3}


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--uncordon",), "--uncordon needs --brokers"),
        (("--brokers", ""), "argument --brokers: expected ids of brokers"),
        (("--brokers", "three"), "argument --brokers: expected ids of brokers"),
        (("--brokers", "03"), "argument --brokers: expected ids of brokers"),
        (("--brokers", "-1"), "argument --brokers: expected ids of brokers"),
        (("--brokers", ",".join(map(str, range(5_001)))), "argument --brokers: expected ids of brokers"),
        (("--brokers", "3", "--throttle", "5"), "unrecognized arguments: --throttle 5"),
    ],
)
async def test_dh_2_a_command_line_that_makes_no_sense_is_refused_before_anything_is_asked(
    args: tuple[str, ...], why: str
) -> None:
    refused = await kafka_reassign("cordon", "--bootstrap-server", "h:1", *args)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.splitlines()[-1].startswith(f"kafka-reassign cordon: {why}")
