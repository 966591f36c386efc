"""A server process on a ZooKeeper where everything that can be garbage is: it controls, and goes on to control."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest_asyncio

from kafka_reassign_rpc.support.bounded_log import LONGEST_LINE
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NodeExists, NoNode
from tests.controller.bad_znodes.test_garbage import brokers
from tests.controller.bare_controller import batch, put_topic, topic_json
from tests.faults.cluster import address_of, alter, listed, metadata
from tests.processes import Processes, processes
from tests.waiting import eventually

CONTROLS_WITHIN_S = 20

DIGITS = "9" * 5_000
DEEP = "[" * 300 + "]" * 300
LONG = "x" * 900_000
MANY = "0," * 500_000 + "0"
NOT_SAID = (
    *(znode_paths.PRODUCER_ID_BLOCK, znode_paths.DELETE_TOPICS, znode_paths.THROTTLES),
    *(znode_paths.partition("good", 0)[:-1], znode_paths.config_topic("good"), znode_paths.config_type("brokers")),
    f"{znode_paths.CONFIG_CHANGES}/config_change_²",
)
"""Beginnings of the paths of znodes that a controller does not read here, or that are well-formed."""
ORPHAN = f"{znode_paths.REASSIGNMENTS}/nowhere"


def hostile() -> Mapping[str, str]:
    """A znode of each kind, by path. A path that ends with an underscore is that of a sequential znode."""
    brokers, topics = znode_paths.BROKER_IDS, znode_paths.TOPICS
    endpoint = '{"version":5,"endpoints":["PLAINTEXT://h:%s"]}'
    found = {
        f"{brokers}/11": endpoint % DIGITS,
        f"{brokers}/12": endpoint % "²",
        f"{brokers}/13": f'{{"version":{DEEP},"endpoints":[]}}',
        f"{brokers}/{DIGITS}": endpoint % 1,
        f"{brokers}/²": endpoint % 1,
        f"{topics}/digits": f'{{"version":3,"partitions":{{"{DIGITS}":[1]}}}}',
        f"{topics}/deep": f'{{"version":3,"partitions":{{"0":{DEEP}}}}}',
        f"{topics}/long": f'{{"version":3,"partitions":{{}},"topic_id":"{LONG}"}}',
        f"{topics}/{'n' * 5_000}": "{",
        f"{topics}/good/partitions/²": "",
        f"{topics}/half/partitions/0/state": f'{{"version":1,"leader":{DIGITS},"isr":{DEEP}}}',
        znode_paths.failed_broker(21): f'{{"timestamp":"{DIGITS}"}}',
        f"{znode_paths.FAILED_BROKERS}/{DIGITS}": "{}",
        f"{znode_paths.DELETE_TOPICS}/{DIGITS}": DEEP,
        znode_paths.PRODUCER_ID_BLOCK: f'{{"version":1,"broker":1,"block_start":"0","block_end":"{DIGITS}"}}',
        znode_paths.CLUSTER_ID: f'{{"version":"1","id":"{LONG}"}}',
        znode_paths.FEATURE: DEEP,
        znode_paths.config_topic("good"): config(
            dict.fromkeys(("leader.replication.throttled.replicas", "retention.ms"), f"²:1,0:{DIGITS}")
        ),
        znode_paths.config_topic("deep"): DEEP,
        znode_paths.config_broker("<default>"): config(
            {
                **dict.fromkeys(("leader.replication.throttled.rate", "failure.interval.ms"), DIGITS),
                **dict.fromkeys(("follower.replication.throttled.rate", "self.healing.throttle"), "²"),
                "self.healing.max.moves": LONG[:300_000],
            }
        ),
        znode_paths.config_broker("²"): config({"leader.replication.throttled.rate": "9" * 400}),
        znode_paths.config_broker(DIGITS): config({"leader.replication.throttled.rate": "1"}),
        f"{znode_paths.CONFIG_CHANGES}/config_change_": DEEP,
        f"{znode_paths.CONFIG_CHANGES}/config_change_²²²²²²²²²²": DEEP,
        znode_paths.reassignment("good", 0): f'{{"version":1,"target":[{DIGITS}],"original_replicas":[1]}}',
        f"{ORPHAN}/{DIGITS}": "{}",
        f"{ORPHAN}/0": DEEP,
        znode_paths.throttle_memory("brokers", "1"): f'{{"version":{DIGITS}}}',
        znode_paths.throttle_memory("topics", "good"): DEEP,
        znode_paths.REASSIGN_PARTITIONS: f'{{"version":1,"partitions":[{MANY}]}}',
        znode_paths.REASSIGN_QUEUE: f'{{"version":1,"partitions":[{{"topic":"{LONG}","partition":0,"replicas":[1]}}]}}',
        f"{znode_paths.REASSIGN_QUEUE}/part_0000000001": f'{{"version":{DIGITS},"partitions":[]}}',
        znode_paths.REASSIGN_EXTRA: '{"version":1,"partitions":[{"topic":"good","partition":0,"replicas":[2,1],'
        f'"reason":"{LONG}","throttle":{"9" * 30}}}]}}',
        f"{znode_paths.LOG_DIR_EVENTS}/log_dir_event_": f'{{"broker":{DIGITS}}}',
        f"{znode_paths.ISR_CHANGES}/isr_change_": f'{{"partitions":{DEEP}}}',
        znode_paths.PREFERRED_REPLICA_ELECTION: f'{{"partitions":[{MANY}]}}',
    }
    requests = (
        f'{{"assignments":{{"good":{{"{DIGITS}":[1]}}}}}}',
        '{"assignments":{"good":{"²":[1]}}}',
        f'{{"assignments":{{"good":{{"0":{DEEP}}}}}}}',
        f'{{"assignments":{{}},"legacy":{DEEP}}}',
        f'{{"assignments":{{}},"version":{DEEP}}}',
        f'{{"assignments":{{"{LONG}":{{"0":[1]}}}}}}',
        f'{{"assignments":{{"good":{{"0":[{MANY}]}}}}}}',
        '{"assignments":{"\\ud800":{"0":[1]}}}',
    )
    for number, request in enumerate(requests):
        found[f"{znode_paths.REASSIGNMENT_REQUESTS}/request_{number:010d}"] = request
    return found


def config(values: Mapping[str, str]) -> str:
    return json.dumps({"version": 1, "config": values}, ensure_ascii=False)


async def put_all(zk: ZooKeeper, contents: Mapping[str, str]) -> None:
    """A controller that runs may remove at once what it has read."""
    for path, text in contents.items():
        await zk.ensure_path(path.rpartition("/")[0])
        try:
            await zk.create(path, text.encode(), sequence=path.endswith("_"))
        except NodeExists:
            with suppress(NoNode):
                await zk.set(path, text.encode())


@pytest_asyncio.fixture
async def commands(tmp_path: Path) -> AsyncIterator[Processes]:
    async with processes(tmp_path) as group:
        yield group


async def test_236_5_a_server_controls_although_a_znode_of_each_kind_is_hostile(
    zk: ZooKeeper, zk_connect: str, commands: Processes, tmp_data: Path
) -> None:
    for topic in ("good", "half", "free"):
        await put_topic(zk, topic, {0: (1, 2)})
    contents = hostile()
    async with brokers(zk_connect, 1, 2):
        await put_all(zk, contents)
        server = await commands.start(
            "serve",
            *("serve", "--zookeeper-connect", zk_connect, "--listeners", "PLAINTEXT://127.0.0.1:0"),
            *("--data-dir", str(tmp_data)),
        )
        address = address_of(server.ready_value("bootstrap"))

        async def controls() -> bool:
            return bool((await listed(address)).error_code == 0)

        await eventually(controls, within=CONTROLS_WITHIN_S)
        epoch = (await zk.get(znode_paths.CONTROLLER_EPOCH))[0]
        for order in ([2, 1], [1, 2]):
            assert await alter(address, {("free", 0): order}) == {("free", 0): 0}
            await eventually(lambda to=order: stands(zk, "free", to))  # type: ignore[misc]
            await put_all(zk, {path: text for path, text in contents.items() if znode_paths.FEATURE not in path})
        await zk.set(znode_paths.REASSIGN_PARTITIONS, batch({("free", 0): (2, 1)}))
        await eventually(lambda: stands(zk, "free", [2, 1]))
        await eventually(lambda: is_empty(zk, znode_paths.REASSIGNMENT_REQUESTS))
        await eventually(lambda: is_empty(zk, znode_paths.LOG_DIR_EVENTS))
        await eventually(lambda: is_empty(zk, znode_paths.ISR_CHANGES))
        assert await controls()
        assert {broker.node_id for broker in (await metadata(address)).brokers} == {1, 2, 1000}
        assert (await zk.get(znode_paths.CONTROLLER_EPOCH))[0] == epoch, "its first term goes on"
        assert await server.stop() == 0
    log = server.log
    assert "Traceback" not in log
    assert max(map(len, log.splitlines())) < LONGEST_LINE + 200
    said = [path for path in contents if not path.startswith(NOT_SAID)]
    assert not [path for path in said if path.rstrip("_")[:60] not in log]


async def stands(zk: ZooKeeper, topic: str, replicas: list[int]) -> bool:
    return bool((await topic_json(zk, topic))["partitions"]["0"] == replicas)


async def is_empty(zk: ZooKeeper, path: str) -> bool:
    return not await zk.children(path)
