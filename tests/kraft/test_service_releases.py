"""The service in front of the oldest and the newest release that it is for, or that of KAFKA_RELEASE alone: stock tools
with a port for each broker, a broker that is down, one that takes nothing new, plans. One cluster for each release."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.client import KafkaError
from kafka_reassign_rpc.client.config_calls import BROKER
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment
from kafka_reassign_rpc.core.settings.healing_settings import INTERVAL
from kafka_reassign_rpc.core.state.partition import MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.fork_server import CLI, KAFKA_REASSIGN, output_of
from tests.kraft.service import Service, client_of, service_of
from tests.kraft.stock_cluster import BROKERS, NAMED, StockCluster
from tests.stock.jars import require
from tests.stock.ports import ports_in_a_row
from tests.stock.tools import Tools
from tests.waiting import eventually

LOST, FOURTH = 3, 4
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
RELEASES = (
    [pytest.param(NAMED, marks=pytest.mark.gate)]
    if NAMED
    else [pytest.param("4.4.0", marks=pytest.mark.gate), pytest.param("3.9.1", marks=pytest.mark.release)]
)
pytestmark = [pytest.mark.stock, pytest.mark.timeout(900)]


@pytest.fixture(scope="module", params=RELEASES)
def of_release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StockCluster]:
    require(request.param)
    made = StockCluster(tmp_path_factory.mktemp("kraft"), request.param, (*BROKERS, FOURTH))
    with made.running():
        yield made


@pytest_asyncio.fixture
async def service(of_release: StockCluster, tmp_path: Path) -> AsyncIterator[Service]:
    async with service_of(of_release, tmp_path) as made:
        yield made


async def test_kr_9_the_stock_tool_of_the_release_works_where_each_broker_has_a_port_of_ours(service: Service) -> None:
    [slow, other, quick] = [
        *await service.cluster.create({"slow": [[2, 1]], "other": [[1, 2]]}, records=200, slow=True),
        *await service.cluster.create({"quick": [[1, 2]]}, records=20),
    ]
    at = f"127.0.0.1:{ports_in_a_row(FOURTH + 2)}"
    server = await service.start(1_000, "--front-nodes", "ports", "--listeners", f"PLAINTEXT://{at}")
    plan = service.folder / "plan.json"

    with Tools(service.cluster.version) as tools:

        async def run(topic: str, replicas: list[int], *args: str) -> str:
            entry = {"topic": topic, "partition": 0, "replicas": replicas}
            plan.write_text(json.dumps({"version": 1, "partitions": [entry]}))
            base = ("--bootstrap-server", server.ready_value("bootstrap"))
            of_plan = () if "--list" in args else ("--reassignment-json-file", str(plan))
            found = await tools.run("reassign-partitions", *base, *args, *of_plan)
            assert found.code == 0, found.err
            return found.out

        started = "Successfully started partition reassignment for"
        assert f"{started} {slow}-0" in await run(slow, [1, 3], "--execute", "--throttle", "1000")
        assert f"{started} {other}-0" in await run(other, [3, 2], "--execute", "--additional")
        assert await service.moving() == {TopicPartition(slow, 0), TopicPartition(other, 0)}
        listed = await run(slow, [1, 3], "--list")
        assert f"{slow}-0: replicas: 1,3,2. adding: 3. removing: 2." in listed
        assert f"{other}-0: replicas: 3,2,1. adding: 3. removing: 1." in listed
        assert f"Reassignment of partition {slow}-0 is still in progress." in await run(slow, [1, 3], "--verify")
        cancelled = "Successfully cancelled partition reassignment for:"
        assert f"{cancelled} {slow}-0" in await run(slow, [1, 3], "--cancel", "--preserve-throttles")
        assert f"{cancelled} {other}-0" in await run(other, [3, 2], "--cancel")
        await run(quick, [3, 1], "--execute")
        await eventually(lambda: service.named(catalogue.MOVE_COMPLETED) == {TopicPartition(quick, 0): 1})
        assert f"Reassignment of partition {quick}-0 is completed." in await run(quick, [3, 1], "--verify")
    await eventually(lambda: service.named(catalogue.MOVE_CANCELLED).total() == 2)
    assert (await service.replicas(slow), await service.replicas(other)) == ({0: (2, 1)}, {0: (1, 2)})
    assert [name for name in await service.throttles(quick) if name.endswith("rate")] == []


async def _rates(service: Service, broker: int) -> set[str]:
    async with service.cluster.client() as client:
        [told] = (await client.describe_broker_configs([broker])).values()
    assert not isinstance(told, KafkaError), told
    return {one.value or "" for one in told if one.name in RATES}


def _of_lost(service: Service, event: str) -> int:
    return sum((one["event"], one.get("broker")) == (event, LOST) for one in service.events())


async def _left(service: Service, topic: str) -> bool:
    return not any(LOST in some for some in (await service.replicas(topic)).values())


async def test_kr_7_and_kr_10_throttles_of_a_broker_that_is_down_are_set_and_taken_back_and_heal_repairs_it(
    service: Service,
) -> None:
    [first, second, lost] = await service.cluster.create(
        {"first": [[1, LOST]], "second": [[1, LOST]], "lost": [[1, LOST], [LOST, 2]]}, records=300
    )
    before, during = TopicPartition(first, 0), TopicPartition(second, 0)
    terms = MoveTerms((1, 2), throttle=1_000)
    server = await service.start(1_001, "--bootstrap-controller", service.cluster.controllers)
    async with client_of(server) as client:
        await client.change_settings({INTERVAL: "-1"})
        assert await client.alter_partition_reassignments({before: terms}) == {before: None}
        await eventually(lambda: _of_lost(service, catalogue.THROTTLE_SET) == 1)
        assert await _rates(service, LOST) == {"1000"}
    await service.cluster.nodes[LOST].kill()
    try:
        await eventually(lambda: _of_lost(service, catalogue.BROKER_LOST) == 1)
        async with client_of(server) as client:
            assert await client.cancel_partition_reassignments([before]) == {before: None}
            await eventually(lambda: _of_lost(service, catalogue.THROTTLE_RESTORED) == 1)
            assert await client.alter_partition_reassignments({during: terms}) == {during: None}
            await eventually(lambda: _of_lost(service, catalogue.THROTTLE_SET) == 2)
        heal = ("heal", "--bootstrap-server", server.ready_value("bootstrap"))
        shown = await output_of(KAFKA_REASSIGN, (*heal, "--now", str(LOST), "--dry-run"))
        assert (shown.code, shown.out.startswith(f"Broker {LOST}: ")) == (0, True), shown
        begun = await output_of(KAFKA_REASSIGN, (*heal, "--now", str(LOST)))
        assert begun.code == 0, begun

        async def is_healed() -> bool:
            return await _left(service, lost) and await _left(service, first)

        await eventually(is_healed, within=60)
    finally:
        await service.cluster.nodes[LOST].start()
    await eventually(lambda: _of_lost(service, catalogue.BROKER_RETURNED) == 1)
    assert await _rates(service, LOST) == {"1000"}, "what was set while it was down"
    async with client_of(server) as client:
        assert await client.cancel_partition_reassignments([during]) == {during: None}
    await eventually(lambda: _of_lost(service, catalogue.THROTTLE_RESTORED) == 2)
    await eventually(lambda: service.named(catalogue.MOVE_CANCELLED)[during] == 1)
    assert await _rates(service, LOST) == set()
    assert await service.throttles(second) == []


async def test_dp_1_a_plan_and_a_drain_are_made_and_submitted_by_the_front(service: Service) -> None:
    """From 4.3 on the drained broker is cordoned by a list of all its log dirs."""
    places = [[LOST, 1], [2, LOST], [1, 2]]
    [topic, slow] = [
        *await service.cluster.create({"drained": places}, records=20),
        *await service.cluster.create({"slow": [[1, 2]]}, records=200, slow=True),
    ]
    server = await service.start(1_002)
    at = ("--bootstrap-server", server.ready_value("bootstrap"))
    key, cordons = (BROKER, str(LOST)), service.cluster.release >= (4, 3)
    if cordons:
        dirs = service.cluster.nodes[LOST].properties["log.dirs"]
        async with service.cluster.client() as client:
            assert await client.change_configs({key: {"cordoned.log.dirs": dirs}}) == {key: None}
        name = TopicPartition(slow, 0)

        async def is_refused() -> bool:
            async with client_of(server) as client:
                told = (await client.alter_partition_reassignments({name: (1, LOST)}))[name]
                if told is None:
                    await client.cancel_partition_reassignments([name])
                assert told is None or isinstance(told, InvalidReplicaAssignment)
                return told is not None and f"broker {LOST}, cordoned" in str(told)

        await eventually(is_refused)
    snapshot, plan = service.folder / "snapshot", service.folder / "plan"
    steps = (
        ("export", *at, "--out", str(snapshot)),
        ("plan", "drain", "--brokers", str(LOST), "--snapshot", str(snapshot), "--out", str(plan)),
        ("submit", "--plan", str(plan), *at, "--execute"),
    )
    for step in steps:
        found = await output_of(CLI, step, timeout=300)
        assert found.code == 0, found.err
    assert await _left(service, topic)
    async with service.cluster.client() as client:
        if cordons:
            await client.change_configs({key: {"cordoned.log.dirs": None}})


async def test_kr_10_and_46_4_a_broker_that_stays_away_is_repaired_without_being_told(service: Service) -> None:
    """The last test here: the broker stays away."""
    [topic] = await service.cluster.create({"healed": [[1, FOURTH], [FOURTH, 2], [1, 2]]}, records=20)
    server = await service.start(1_003)
    async with client_of(server) as client:
        await client.change_settings({INTERVAL: "1000"})
    await service.cluster.nodes[FOURTH].kill()
    lost = {TopicPartition(topic, 0), TopicPartition(topic, 1)}
    await eventually(lambda: service.named(catalogue.MOVE_COMPLETED).keys() >= lost, within=90)
    now = await service.replicas(topic)
    assert not any(FOURTH in some for some in now.values())
    assert ([len(set(some)) for some in now.values()], now[2]) == ([2, 2, 2], (1, 2))
    await eventually(lambda: catalogue.HEAL_DONE in [one["event"] for one in service.events()])
