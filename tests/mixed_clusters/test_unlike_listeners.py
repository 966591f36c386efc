"""Stock brokers 3.9.1 with listeners of their own, which create topics by themselves. Our server is the controller."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka.admin import KafkaAdminClient

from kafka_reassign_rpc.protocol.messages import MetadataRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.bare_controller import batch
from tests.faults.cluster import Address, address_of, ask, metadata
from tests.fork_server import KAFKA_REASSIGN, output_of
from tests.preflight.command import every_znode, run
from tests.stock.jars import BROKER_VERSION
from tests.stock.tools import Output, Tools
from tests.waiting import eventually

from .load import Load, read_to_end
from .mixed_cluster import BROKERS, MixedCluster, Name, Replicas, behind_our_server

pytestmark = [
    pytest.mark.stock,
    pytest.mark.release,
    pytest.mark.asyncio(loop_scope="module"),
]

INTERNAL, CLIENT, OUTSIDE = "INTERNAL", "CLIENT", "OUTSIDE"
LISTENERS = {1: (INTERNAL, CLIENT), 2: (CLIENT, INTERNAL), 3: (INTERNAL, OUTSIDE)}
PROTOCOLS = "INTERNAL:PLAINTEXT,CLIENT:PLAINTEXT,OUTSIDE:PLAINTEXT"
SERVER = 1000
PARTITIONS, REPLICAS = 4, 2
"""Of topics that brokers create. They take the server for a broker too, and give each of four nodes two replicas."""
RECORDS = 200


def anywhere(*listeners: str) -> str:
    return ",".join(f"{name}://127.0.0.1:0" for name in listeners)


class Unlike:
    """The cluster, with the addresses that its nodes have registered: `at` has them by listener, `first` those of each
    node's first listener."""

    def __init__(self, mixed: MixedCluster) -> None:
        self.mixed = mixed
        self.at: dict[str, dict[int, Address]] = {INTERNAL: {}, CLIENT: {}, OUTSIDE: {}}
        self.first: dict[int, Address] = {}

    async def look(self) -> None:
        places = {broker: znode_paths.broker(broker) for broker in BROKERS}
        for node, path in {**places, SERVER: znode_paths.reassignment_server(SERVER)}.items():
            for text in json.loads((await self.mixed.zk.get(path))[0])["endpoints"]:
                name, _, address = text.partition("://")
                self.at[name.partition(":")[0]][node] = address_of(address)
                self.first.setdefault(node, address_of(address))

    def bootstrap(self, listener: str, *nodes: int) -> str:
        return ",".join(f"{host}:{port}" for host, port in (self.at[listener][node] for node in nodes))

    @property
    def internal(self) -> str:
        return self.bootstrap(INTERNAL, *BROKERS)

    async def create(self, topic: str, assignment: Mapping[int, Replicas]) -> None:
        def make() -> None:
            admin = KafkaAdminClient(bootstrap_servers=self.internal)
            try:
                admin.create_topics({topic: {"assignments": {i: [*to] for i, to in assignment.items()}}})
            finally:
                admin.close()

        await asyncio.to_thread(make)
        await self.mixed.rest_at({(topic, index): to for index, to in assignment.items()})

    async def check(self, listeners: Sequence[str], *options: str) -> tuple[int, dict[str, tuple[str, str]]]:
        """The exit code, and by subject the level and the text of what is found about brokers and listeners."""
        ended = await run(
            *("check", "--json", "--zookeeper-connect", self.mixed.cluster.connect, "--broker-id", "1001"),
            *("--listeners", anywhere(*listeners), "--listener-security-protocol-map", PROTOCOLS, *options),
        )
        found = {one["subject"]: (one["level"], one["text"]) for one in ended.document["findings"]}
        return ended.code, {name: found[name] for name in found if name == "brokers" or "listeners" in name}

    async def leaders(self, topic: str) -> dict[int, int]:
        """By partition the leader that ZooKeeper and each node names; empty where they are not of one mind."""
        indexes = (await self.mixed.cluster.topic(topic))["partitions"]
        stored = {int(i): (await self.mixed.cluster.state((topic, int(i))))["leader"] for i in indexes}
        for address in self.at[INTERNAL].values():
            (shown,) = (await metadata(address, topic)).topics
            if {one.partition_index: one.leader_id for one in shown.partitions} != stored:
                return {}
        return stored

    async def are_led_by(self, topic: str, *leaders: int) -> bool:
        return await self.leaders(topic) == dict(enumerate(leaders))

    async def created_by_brokers(self, topic: str, brokers: Sequence[int] = BROKERS) -> bool:
        """Whether the topic has an id, and each partition as many of these brokers as it should have, all in sync."""
        written = await self.mixed.cluster.topic(topic)
        targets: dict[Name, Replicas] = {(topic, int(i)): tuple(to) for i, to in written["partitions"].items()}
        assert len(targets) == PARTITIONS, targets
        for replicas in targets.values():
            assert len(set(replicas)) == REPLICAS, targets
            assert set(replicas) <= set(brokers), targets
        request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)])
        for address in self.at[INTERNAL].values():
            (shown,) = (await ask(address, request, 12)).topics
            found = {(topic, one.partition_index): tuple(one.replica_nodes) for one in shown.partitions}
            assert (found, shown.error_code) == (targets, 0)
            assert all({*one.isr_nodes} == {*one.replica_nodes} for one in shown.partitions), shown
            assert shown.topic_id.int, "a topic without an id has a zero"
            assert not any(one.offline_replicas for one in shown.partitions)
        return "missing_replicas" not in written and await self.mixed.cluster.rested_at(targets)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def unlike(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Unlike]:
    """Our server has the listeners of all brokers."""
    overrides = {
        "listener.security.protocol.map": PROTOCOLS,
        "inter.broker.listener.name": INTERNAL,
        "auto.create.topics.enable": "true",
        "num.partitions": str(PARTITIONS),
        "default.replication.factor": str(REPLICAS),
        "offsets.topic.num.partitions": str(PARTITIONS),
        "offsets.topic.replication.factor": str(REPLICAS),
    }
    of_each = {broker: {"listeners": anywhere(*names)} for broker, names in LISTENERS.items()}
    own = ("--listeners", anywhere(INTERNAL, CLIENT, OUTSIDE), "--listener-security-protocol-map", PROTOCOLS)
    directory = tmp_path_factory.mktemp("unlike-listeners")
    async with behind_our_server(directory, overrides=overrides, per_broker=of_each, options=own) as mixed:
        made = Unlike(mixed)
        await made.look()
        yield made


async def test_sv_4_the_check_says_which_listeners_the_server_and_the_brokers_lack(unlike: Unlike) -> None:
    before = await every_znode(unlike.mixed.zk)
    reached = ("OK", "broker 1, broker 2, broker 3 can be reached and answer")
    differ = ("WARNING", "broker 3 has no listener CLIENT; brokers 1, 2 have no listener OUTSIDE")

    code, found = await unlike.check((INTERNAL, CLIENT, OUTSIDE), "--inter-broker-listener-name", INTERNAL)
    assert (code, found.pop("listeners")[0]) == (0, "OK")
    assert found == {"brokers": reached, "unlike-listeners": differ}

    code, found = await unlike.check((INTERNAL,))
    assert (code, found.pop("listeners")[0]) == (0, "OK")
    alone = ("WARNING", "clients that come to the brokers on CLIENT, OUTSIDE find no controller there")
    assert found == {"brokers": reached, "unlike-listeners": differ, "client-listeners": alone}

    code, found = await unlike.check((CLIENT, OUTSIDE), "--inter-broker-listener-name", CLIENT)
    theirs = "and the server has CLIENT, OUTSIDE"
    assert code == 1
    assert found == {
        "brokers": ("UNSAFE", "broker 3 has no listener CLIENT"),
        "listeners": ("UNSAFE", f"brokers 1, 2, 3 look for a controller on INTERNAL, {theirs}"),
        "unlike-listeners": differ,
    }
    assert await every_znode(unlike.mixed.zk) == before


async def test_sv_4_clients_of_each_listener_learn_where_it_is_on_every_node(unlike: Unlike) -> None:
    """The server shows a broker without the listener on another one of the same protocol; a broker leaves it out."""
    assert {name: set(nodes) for name, nodes in unlike.at.items()} == {
        INTERNAL: {1, 2, 3, SERVER},
        CLIENT: {1, 2, SERVER},
        OUTSIDE: {3, SERVER},
    }
    for nodes in unlike.at.values():
        for node, address in nodes.items():
            shown = await metadata(address)
            assert shown.controller_id == SERVER
            expected = unlike.first | nodes if node == SERVER else nodes
            assert {one.node_id: (one.host, one.port) for one in shown.brokers} == expected, node


async def test_455_4_partitions_move_between_brokers_of_unlike_listeners_under_load(unlike: Unlike) -> None:
    await unlike.create("moved", {0: (1, 2), 1: (3, 1)})
    async with Load(unlike.internal, "moved", range(2)) as load:
        await eventually(lambda: load.acked)
        targets: dict[Name, Replicas] = {("moved", 0): (3, 2), ("moved", 1): (2,)}
        await unlike.mixed.start(targets)
        await unlike.mixed.rest_at(targets)


async def test_sv_4_a_topic_that_a_producer_causes_and_the_groups_topic_are_created_by_stock_brokers(
    unlike: Unlike,
) -> None:
    await asyncio.to_thread(produce, unlike.internal, "caused")
    await eventually(lambda: unlike.created_by_brokers("caused"))
    records = read_to_end(unlike.internal, [("caused", index) for index in range(PARTITIONS)])
    assert await asyncio.to_thread(lambda: sorted(int(one.value() or b"") for one in records)) == [*range(RECORDS)]

    assert await asyncio.to_thread(read_in_group, unlike.internal, "caused") == RECORDS
    await eventually(lambda: unlike.created_by_brokers("__consumer_offsets"))


async def test_dh_2_no_replica_of_a_topic_that_stock_brokers_create_lands_on_a_cordoned_broker(unlike: Unlike) -> None:
    by = ("--bootstrap-server", unlike.bootstrap(INTERNAL, SERVER))
    closed = await output_of(KAFKA_REASSIGN, ["cordon", *by, "--brokers", "3"])
    assert (closed.code, closed.out) == (0, "Cordoned: 3.\n"), closed
    try:
        for number in range(3):
            topic = f"cordoned-{number}"
            await asyncio.to_thread(produce, unlike.internal, topic)
            await eventually(partial(unlike.created_by_brokers, topic, (1, 2)))
            records = read_to_end(unlike.internal, [(topic, index) for index in range(PARTITIONS)])
            assert len(await asyncio.to_thread(list, records)) == RECORDS
    finally:
        opened = await output_of(KAFKA_REASSIGN, ["cordon", *by, "--brokers", "3", "--uncordon"])
    assert opened.code == 0, opened


def produce(bootstrap: str, topic: str) -> None:
    """Records to a topic that was not created. Blocks."""
    errors: list[object] = []
    patient = {"topic.metadata.propagation.max.ms": 90_000}
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0, **patient})
    for number in range(RECORDS):
        producer.produce(topic, b"%d" % number, on_delivery=lambda error, _: errors.append(error and str(error)))
    assert not producer.flush(90)
    assert errors == [None] * RECORDS, errors[:3]


def read_in_group(bootstrap: str, topic: str) -> int:
    """The number of records that a group has read and committed. Blocks, for a minute at most."""
    config = {"bootstrap.servers": bootstrap, "group.id": "readers", "auto.offset.reset": "earliest", "log_level": 0}
    read, deadline = 0, time.monotonic() + 60
    with closing(Consumer(config)) as consumer:
        consumer.subscribe([topic])
        while read < RECORDS and time.monotonic() < deadline:
            read += sum(record.error() is None for record in consumer.consume(RECORDS, timeout=1))
        consumer.commit(asynchronous=False)
        committed = consumer.committed([TopicPartition(topic, index) for index in range(PARTITIONS)], timeout=30)
    assert sum(max(one.offset, 0) for one in committed) == read
    return read


async def test_sv_4_the_election_tool_lets_first_replicas_lead_again_whose_order_was_restored_by_hand(
    unlike: Unlike, tmp_path: Path
) -> None:
    """By a listener of clients, at a broker that shows there neither broker 3 nor who leads on it."""
    await unlike.create("restored", {0: (1, 2), 1: (2, 3), 2: (3, 1)})

    def file(name: str, *replicas: Replicas) -> str:
        (tmp_path / name).write_bytes(batch({("restored", index): to for index, to in enumerate(replicas)}))
        return str(tmp_path / name)

    before = file("before.json", (1, 2), (2, 3), (3, 1))
    others = file("others.json", (2, 1), (3, 2), (3, 1))
    with Tools(BROKER_VERSION) as tools:

        async def elect(*which: str) -> Output:
            by = ("--bootstrap-server", unlike.bootstrap(CLIENT, 1))
            return await tools.run("leader-election", *by, "--election-type", "preferred", *which)

        for order, leaders, elected in ((others, (1, 2, 3), (2, 3, 3)), (before, (2, 3, 3), (1, 2, 3))):
            put = ("--bootstrap-server", unlike.bootstrap(INTERNAL, SERVER), "--execute", "--reassignment-json-file")
            ended = await output_of(KAFKA_REASSIGN, [*put, order])
            assert ended.code == 0, ended
            await eventually(partial(unlike.are_led_by, "restored", *leaders))
            output = await elect("--path-to-json-file", order)
            assert output.code == 0, output
            assert set(output.lines) == {
                "Valid replica already elected for partitions restored-2",
                "Successfully completed leader election (PREFERRED) for partitions restored-0, restored-1",
            }
            await eventually(partial(unlike.are_led_by, "restored", *elected))
        output = await elect("--all-topic-partitions")
        assert (output.code, "Error" in output.out + output.err) == (0, False), output
        for name, replicas in (await unlike.mixed.cluster.replicas()).items():
            assert (await unlike.mixed.cluster.state(name))["leader"] == replicas[0], name


async def test_sv_4_a_server_without_the_listener_by_which_brokers_look_for_it_leaves_the_controllership_to_them(
    unlike: Unlike,
) -> None:
    """The last scenario: from here on a stock broker is the controller."""
    cluster = unlike.mixed.cluster
    assert await cluster.servers[unlike.mixed.server].stop() == 0
    await eventually(unlike.mixed.stock_controls, within=60)
    epoch = await cluster.epoch()

    of_clients = ("--listeners", anywhere(CLIENT), "--listener-security-protocol-map", PROTOCOLS)
    lacking = await cluster.server("lacking", *of_clients, broker_id=1002)

    assert await unlike.mixed.stock_controls()
    assert await cluster.epoch() == epoch
    assert "standing by: brokers 1, 2, 3 look for a controller on INTERNAL, and this server has CLIENT: " in lacking.log
