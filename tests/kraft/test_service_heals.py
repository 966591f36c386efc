"""kr-5 and kr-10: a stock cluster in KRaft mode loses the majority of its controllers for a while, then a broker for
good, and servers in front are killed meanwhile."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.client import AsyncReassignmentClient
from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import KafkaError, PolicyViolation, RequestTimedOut
from kafka_reassign_rpc.core.settings.healing_settings import INTERVAL, MAX_BROKERS
from kafka_reassign_rpc.core.state.partition import CancelMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.upstream import Upstream
from tests.kraft.service import STATE_TOPIC, THROTTLES, Service, client_of
from tests.kraft.stock_cluster import StockCluster
from tests.processes import processes
from tests.waiting import eventually

pytestmark = [pytest.mark.stock]

LOST = 3
CONTROLLERS = (10, 11)
"""Which are no brokers; the third one is broker 1."""
LIVE = (1, 2, 4)
PLACES = ((1, LOST), (LOST, 2), (2, 1), (4, LOST))
SOON = ("--failure-interval-ms", "1000", "--self-healing-max-moves", "2", "--self-healing-throttle", "100000")


@pytest.fixture(scope="module")
def large_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StockCluster]:
    """Broker 4 has two log dirs."""
    folder = tmp_path_factory.mktemp("kraft")
    made = StockCluster(folder, brokers=(*LIVE, LOST), controllers=CONTROLLERS)
    for one in made.nodes.values():
        one.properties["transaction.state.log.num.partitions"] = "1"
    made.nodes[4].properties["log.dirs"] = ",".join(str(folder / name) for name in ("a", "b"))
    with made.running():
        yield made


@pytest_asyncio.fixture
async def service(large_cluster: StockCluster, tmp_path: Path) -> AsyncIterator[Service]:
    async with processes(tmp_path) as started:
        yield Service(large_cluster, started, tmp_path)
    async with large_cluster.client() as client:
        await client.cancel_partition_reassignments(await client.list_partition_reassignments())


@pytest.mark.gate
async def test_860_5_a_look_that_is_up_to_date_has_what_others_have_just_had_an_answer_to(service: Service) -> None:
    """With several controllers brokers of many releases hear with the next record of the metadata, half a second later
    at most, what is committed."""
    [topic] = await service.cluster.create({"ordered": [[1, 2]]})
    name = TopicPartition(topic, 0)
    upstream = Upstream({"bootstrap_servers": service.cluster.bootstrap}, lambda: False)
    await upstream.start()
    try:
        async with service.cluster.client() as others:
            for target in [(2, 1), (1, 2)] * 3:
                assert await others.alter_partition_reassignments({name: target}) == {name: None}
                moves, found = await upstream.assignments([topic], up_to_date=True)
                assert moves == {}
                assert not isinstance(found, KafkaError)
                assert found[topic].partitions[0].replicas == target
    finally:
        await upstream.close()


@pytest.mark.gate
async def test_kr_5_without_a_majority_of_controllers_answers_are_true_and_afterwards_each_intent_has_its_outcome_once(
    service: Service,
) -> None:
    [slow, quick] = [
        *await service.cluster.create({"slow": [[1, 2], [1, 2]]}, records=200, slow=True),
        *await service.cluster.create({"quick": [[1, 2]]}, records=20),
    ]
    stays, goes_back, begins = TopicPartition(slow, 0), TopicPartition(slow, 1), TopicPartition(quick, 0)
    server, controllers = await service.start(1_002), service.cluster.controllers_alone
    async with client_of(server) as client:
        started = dict.fromkeys((stays, goes_back), (3, 2))
        assert await client.alter_partition_reassignments(started) == dict.fromkeys(started)
        await asyncio.gather(*(one.kill() for one in controllers))
        try:
            asked: dict[TopicPartition, tuple[int, ...] | CancelMove] = {begins: (3, 1), goes_back: CancelMove()}
            assert await _all_timed_out(client, asked)
            listed = await client.list_partition_reassignments()
            found = {name: one.target for name, one in listed.items()}
            # What begins is durable where it was decided on a look from before the outage; then it is listed as well.
            assert found in (started, {**started, begins: (3, 1)}), "as it was seen last"
            assert service.named(catalogue.MOVE_CANCELLED) == service.named(catalogue.MOVE_COMPLETED) == {}
        finally:
            await asyncio.gather(*(one.start() for one in controllers))
        await eventually(lambda: service.named(catalogue.MOVE_COMPLETED) == {begins: 1})
        await eventually(lambda: service.named(catalogue.MOVE_CANCELLED) == {goes_back: 1}, within=120)
        assert await service.moving() == {stays}
        assert await service.replicas(quick) == {0: (3, 1)}
        assert (await service.replicas(slow))[1] == (1, 2)
        assert await client.alter_partition_reassignments({stays: CancelMove()}) == {stays: None}
    await service.unthrottled()


async def _all_timed_out(
    client: AsyncReassignmentClient, asked: Mapping[TopicPartition, tuple[int, ...] | CancelMove]
) -> bool:
    """Of each it is open what becomes of it. The last controller may answer looks for a moment: then all is decided."""
    try:
        answers = list((await client.alter_partition_reassignments(asked)).values())
    except RequestTimedOut as error:
        answers = [error]
    is_open = re.compile("may still be carried out|goes on")
    return all(isinstance(one, RequestTimedOut) and is_open.search(str(one)) for one in answers)


@pytest.mark.gate
async def test_kr_10_46_4_and_46_6_a_lost_broker_is_repaired_once_the_brake_lets_go_though_servers_are_killed(
    service: Service,
) -> None:
    [topic] = await service.cluster.create({"healed": PLACES}, records=300)
    first = await service.start(1_000, *SOON)
    async with client_of(first) as client:
        await client.change_settings({MAX_BROKERS: "0"})
        assert await client.cordon([LOST]) == {LOST}
    before = await _replicas(service, topic)

    await service.cluster.nodes[LOST].kill()
    await eventually(lambda: _of(service, 1_000, catalogue.HEAL_HELD_BACK))
    await first.kill()
    second = await service.start(1_003, *SOON)
    await eventually(lambda: _of(service, 1_003, catalogue.HEAL_HELD_BACK))
    async with client_of(second) as client:
        status = await client.healing_status()
        assert status.held_back is not None
        assert f"{MAX_BROKERS}=0" in status.held_back, "settings outlive their server"
        assert [one.broker for one in status.failed] == [LOST]
        with pytest.raises(PolicyViolation):
            await client.heal_broker(LOST)
        assert await service.moving() == set()
        assert await client.cordon([LOST], uncordon=True) == frozenset()
        await client.change_settings({MAX_BROKERS: None})

    async def moves() -> bool:
        return bool(await service.moving())

    await eventually(moves)
    await second.kill()
    third = await service.start(1_006, *SOON)

    async def is_whole() -> bool:
        return not any(LOST in some for some in (await _replicas(service, topic)).values())

    await eventually(is_whole, within=120)
    repaired = {name for name, some in before.items() if LOST in some}
    await eventually(lambda: service.named(catalogue.MOVE_COMPLETED).keys() >= repaired)
    assert set(service.named(catalogue.MOVE_COMPLETED).values()) == {1}
    for name, now in (await _replicas(service, topic)).items():
        assert len(set(now)) == len(before[name])
        assert {one for one in before[name] if one != LOST} <= set(now), "nothing else moved"
    await eventually(lambda: catalogue.HEAL_DONE in [one["event"] for one in service.events()])
    async with client_of(third) as client:
        status = await client.healing_status()
        assert (list(status.failed), status.waiting, status.moving) == ([], 0, 0)

    async def unthrottled() -> bool:
        return not await _throttles(service, topic)

    await eventually(unthrottled)


@pytest.mark.release
async def test_kr_10_dh_3_what_a_failed_log_dir_held_is_repaired_and_nothing_else_moves(service: Service) -> None:
    places = dict(enumerate(((4, 1), (2, 4), (4, 2), (1, 4), (1, 2))))
    [topic] = await service.cluster.create({"jbod": [*places.values()]}, records=20)
    lost_dir = Path(service.cluster.nodes[4].properties["log.dirs"].split(",")[1])  # the first one has the metadata
    lost = {int(path.name.rpartition("-")[2]) for path in lost_dir.glob(f"{topic}-*")}
    assert 0 < len(lost) < 4
    server = await service.start(1_009)
    lost_dir.rename(lost_dir.with_name("away"))
    lost_dir.touch()  # root may write into any directory, but not into a file as if it were one

    async with client_of(server) as client:

        async def is_shown() -> bool:
            shown = [(one.broker, list(one.paths)) for one in (await client.healing_status()).log_dirs]
            return shown == [(4, [str(lost_dir)])]

        await eventually(is_shown)
        assert await service.replicas(topic) == places
        await client.change_settings({INTERVAL: "30000"})
    names = {TopicPartition(topic, index) for index in lost}
    await eventually(lambda: service.named(catalogue.MOVE_COMPLETED).keys() >= names, within=90)
    now = await service.replicas(topic)
    assert {index for index, some in now.items() if 4 not in some} == lost | {4}
    assert {index: some for index, some in now.items() if index not in lost} == {
        index: some for index, some in places.items() if index not in lost
    }


def _of(service: Service, server: int, event: str) -> bool:
    return any((one["server"], one["event"]) == (server, event) for one in service.events())


async def _replicas(service: Service, topic: str) -> Mapping[TopicPartition, tuple[int, ...]]:
    names = (topic, STATE_TOPIC)
    found = dict(zip(names, await asyncio.gather(*map(service.replicas, names)), strict=True))
    return {TopicPartition(name, index): some for name in names for index, some in found[name].items()}


async def _throttles(service: Service, topic: str) -> list[str]:
    async with service.cluster.client() as client:
        told = {
            **await client.describe_configs([(TOPIC, topic), (TOPIC, STATE_TOPIC)]),
            **{(BROKER, str(one)): some for one, some in (await client.describe_broker_configs(LIVE)).items()},
        }
    assert not any(isinstance(some, KafkaError) for some in told.values()), told
    named = [one.name for some in told.values() if not isinstance(some, KafkaError) for one in some]
    return [name for name in named if name.endswith(THROTTLES)]
