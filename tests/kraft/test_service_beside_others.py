"""kr-6 and kr-8: another balancer works on the same stock cluster.

Its requests are those of Cruise Control (Executor, ReplicationThrottleHelper): it sets rates of brokers that have
another, adds its replicas to the lists of topics, moves by Alter at the cluster, and afterwards takes its entries and
the rates away.
"""

import pytest

from kafka_reassign_rpc.client import KafkaError
from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC, Changes
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.state.partition import CancelMove, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.kraft.service import Service, client_of
from tests.kraft.stock_cluster import BROKERS, SIDES
from tests.waiting import eventually

RATES = [f"{side}.replication.throttled.rate" for side in SIDES]
LISTS = [f"{side}.replication.throttled.replicas" for side in SIDES]
OURS, THEIRS = "1000", "2000"
ITS_BROKERS = (1, 2)
"""Broker 3, to which a replica of ours moves, keeps its rate meanwhile: the move lasts."""


@pytest.mark.stock
@pytest.mark.gate
async def test_kr_6_and_kr_8_moves_of_a_balancer_are_left_alone_and_rates_that_it_takes_away_are_put_back_once(
    service: Service,
) -> None:
    [ours, theirs] = [
        *await service.cluster.create({"ours": [[2, 1]]}, records=1_000),
        *await service.cluster.create({"theirs": [[1], [1]]}, records=5),
    ]  # two leaders, since two moves from one would share its rate: theirs could wait for minutes
    name, terms = TopicPartition(ours, 0), MoveTerms((3, 1), throttle=int(OURS))
    server = await service.start(1_003)
    async with client_of(server) as client:
        assert await client.alter_partition_reassignments({name: terms}) == {name: None}
        await eventually(lambda: _rates_are(service, OURS, OURS))
        for partition, times in enumerate((1, 2)):
            await _balanced(service, TopicPartition(theirs, partition), sets_rates=times == 1)
            if times == 1:
                await eventually(lambda: _rates_are(service, OURS, OURS))
                await eventually(lambda: _put_back(service) == dict.fromkeys(ITS_BROKERS, 1))
        await eventually(lambda: _said(service) == {*ITS_BROKERS})
        assert await _rates_are(service, None, OURS), "it is left so, and said"
        assert _put_back(service) == dict.fromkeys(ITS_BROKERS, 1)
        assert await client.alter_partition_reassignments({name: CancelMove()}) == {name: None}
    await eventually(lambda: service.named(catalogue.MOVE_CANCELLED) == {name: 1})

    async def unthrottled() -> bool:
        return not await service.throttles(ours)

    await eventually(unthrottled)
    assert await service.throttles(theirs) == []
    assert await service.replicas(theirs) == {0: (2,), 1: (2,)}
    assert await service.replicas(ours) == {0: (2, 1)}
    assert {one.topic for one in service.named(catalogue.MOVE_STARTED)} == {ours}


async def _balanced(service: Service, name: TopicPartition, *, sets_rates: bool) -> None:
    """It moves this partition from broker 1 to 2, throttled. Where a look sees rates of its own in between, it takes
    away those, and not ours: so the second time it only takes away what is there.
    """
    of_brokers = [(BROKER, str(one)) for one in ITS_BROKERS]
    lists = dict(zip(LISTS, (f"{name.partition}:1", f"{name.partition}:2"), strict=True))
    async with service.cluster.client() as balancer:

        async def change(changes: Changes) -> None:
            assert not any((await balancer.change_configs(changes)).values())

        rates = {one: dict.fromkeys(RATES, THEIRS) for one in of_brokers} if sets_rates else {}
        await change({**rates, (TOPIC, name.topic): lists})
        assert await balancer.alter_partition_reassignments({name: (2,)}) == {name: None}

        async def has_moved() -> bool:
            return name not in await balancer.list_partition_reassignments()

        await eventually(has_moved)
        await change({one: dict.fromkeys(RATES) for one in of_brokers} | {(TOPIC, name.topic): dict.fromkeys(LISTS)})


async def _rates_are(service: Service, its: str | None, other: str) -> bool:
    """The rates of its brokers, and of the other one."""
    async with service.cluster.client() as client:
        told = await client.describe_broker_configs(BROKERS)
    found = {
        broker: {one.name: one.value for one in some if one.name in RATES}
        for broker, some in told.items()
        if not isinstance(some, KafkaError)
    }
    own = {} if its is None else dict.fromkeys(RATES, its)
    return found == {**dict.fromkeys(ITS_BROKERS, own), 3: dict.fromkeys(RATES, other)}


def _put_back(service: Service) -> dict[int, int]:
    """How often rates of each broker were set again, because somebody else had taken them away."""
    found: dict[int, int] = {}
    for one in service.events():
        if one["event"] == catalogue.THROTTLE_SET and "somebody else had" in str(one.get("reason")):
            broker = int(str(one["broker"]))
            found[broker] = found.get(broker, 0) + 1
    return found


def _said(service: Service) -> set[object]:
    """Brokers whose rates are left away."""
    return {one["broker"] for one in service.events() if one["event"] == catalogue.THROTTLE_REMOVED and "broker" in one}
