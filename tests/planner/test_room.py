"""Room: what fits on a broker, volume by volume, beside what is on its way; and what its fair share of bytes is."""

import pytest

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.brokers.broker_room import UNBOUNDED, BrokerRoom, Spare, holdable_bytes, room_of
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.plan_result import Plan
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker, PlannerCluster, Volume
from tests.planner.clusters import broken_rules, partition, topic
from tests.planner.column_plans import make_plan
from tests.tables import for_each

HEAL = Goal(GoalKind.HEAL)
ROOMS = [
    # capacity, free, held: room
    (UNKNOWN, UNKNOWN, 100, BrokerRoom(UNBOUNDED, UNBOUNDED)),
    (1000, UNKNOWN, 300, BrokerRoom(600, 600)),  # 1000 less 300 less the headroom of 100
    (1000, 500, 300, BrokerRoom(400, 400)),
    (1000, 0, 300, BrokerRoom(0, 0)),
]


@pytest.mark.parametrize(("capacity", "free", "held", "room"), ROOMS)
def test_dp_2_the_room_of_a_broker_is_what_is_free_without_its_headroom(
    capacity: int, free: int, held: int, room: BrokerRoom
) -> None:
    assert room_of(PlannerBroker(1, capacity=capacity, free=free), held, 0, 0.1) == room


def test_dp_2_what_is_left_is_what_one_volume_has_for_certain() -> None:
    volumes = (Volume(1000, 600), Volume(1000, 300), Volume(1000, 50))
    room = room_of(PlannerBroker(1, None, True, 3000, 950, volumes=volumes), 0, 0, 0.1)
    assert room == BrokerRoom(500 + 200, 500, 3)
    assert [room.left(arrived) for arrived in (0, 100, 400, 700, 900)] == [500, 400, 100, 0, 0]
    coming = room_of(PlannerBroker(1, None, True, 3000, 950, 60, 2, volumes), 0, 70, 0.1)
    assert coming == BrokerRoom(700 - 60 - 140, 500 - 60 - 140, 3)


FULL = Load._make([0] * len(MEASURES))
"""Nothing more may come."""


@for_each(
    "spare, is_over, for_replicas",
    [
        (Spare(0), False, 0),
        (Spare(-1), True, -1),
        (Spare(5, FULL), False, -1),
        (Spare(5, FULL._replace(replicas=1)), False, 5),
        (Spare(5, FULL._replace(cpu=-1)), True, -1),
        (Spare(-1, FULL._replace(replicas=2)), True, -1),
    ],
)
def test_dp_2_a_broker_that_holds_exactly_what_it_may_is_not_over_its_limit(
    spare: Spare, for_replicas: int, *, is_over: bool
) -> None:
    assert (spare.is_over, spare.for_replicas) == (is_over, for_replicas)


def test_dp_2_what_comes_fits_to_the_last_byte_and_to_the_last_unit_of_each_measure() -> None:
    room = Spare(10, FULL._replace(bytes=UNBOUNDED, replicas=1, produce=3))
    assert room.fits(Load(bytes=10, replicas=1, produce=3))
    for more in (Load(bytes=11), Load(replicas=2), Load(produce=4), Load(cpu=1)):
        assert not room.fits(more), more
    assert room.without(Load(bytes=4, replicas=1)).load() == FULL._replace(bytes=6, produce=3)
    assert Spare(10).without(Load(bytes=4, cpu=7)) == Spare(6)


def heal_with(broker: PlannerBroker, *sizes: int) -> Plan:
    """Broker 1 is lost, 2 has the other replica of each partition, and only `broker` can take what 1 had."""
    parts = [partition(n, 1, 2, live=[2], size=size) for n, size in enumerate(sizes)]
    cluster = PlannerCluster([PlannerBroker(1, live=False), PlannerBroker(2), broker], [topic("t", *parts)])
    made = make_plan(cluster, HEAL, PlanOptions(headroom=0.0))
    assert broken_rules(cluster, HEAL, made, 0.0) == []
    assert {one.reason.split(" for ")[0] for one in made.left_out} <= {"no broker has room"}
    return made


def test_dp_2_room_that_moves_in_flight_will_take_is_not_planned_again() -> None:
    """1000 bytes are free and 900 of them on their way: 900 more do not fit, 100 do."""
    assert heal_with(PlannerBroker(3, None, True, 5000, 1000, arriving=900), 900).moves == ()
    assert len(heal_with(PlannerBroker(3, None, True, 5000, 1000, arriving=900), 100).moves) == 1
    assert heal_with(PlannerBroker(3, None, True, 5000, 1000, arriving_unknown=1), 600).moves == ()


def test_dp_2_a_full_broker_gets_no_replica() -> None:
    assert heal_with(PlannerBroker(3, None, True, 5000, 0), 1, 1).moves == ()


@pytest.mark.parametrize(
    ("volumes", "sizes", "moved"),
    [
        ((500, 500), (800,), 0),
        ((500, 500), (500,), 1),
        ((500, 500), (300, 300, 300), 2),
        ((500, 500, 0), (300,), 1),
        ((1000,), (300, 300, 300), 3),
        ((0, 0), (1,), 0),
    ],
)
def test_dp_2_a_replica_has_to_fit_on_one_volume_of_its_broker(
    volumes: tuple[int, ...], sizes: tuple[int, ...], moved: int
) -> None:
    held = tuple(Volume(1000, free) for free in volumes)
    broker = PlannerBroker(3, None, True, 1000 * len(held), sum(volumes), volumes=held)
    assert len(heal_with(broker, *sizes).moves) == moved


def two_halves(free: int) -> PlannerCluster:
    """Two brokers of 1000 bytes. Before, broker 1 has ten partitions of 50 bytes and broker 2 none."""
    parts = [partition(n, 1, size=50) for n in range(10)]
    listed = [PlannerBroker(1, None, True, 1000, free), PlannerBroker(2, None, True, 1000, free + 500)]
    return PlannerCluster(listed, [topic("t", *parts)])


def test_dp_2_brokers_that_end_at_exactly_half_each_have_no_imbalance() -> None:
    """What a broker can hold is no more after the plan than before: the free bytes are those of the snapshot."""
    made = make_plan(two_halves(500), Goal(GoalKind.REBALANCE), PlanOptions(tolerance=0.001)).summary
    assert [made.after[broker].bytes for broker in (1, 2)] == [250, 250]
    assert [made.targets[broker][0] for broker in (1, 2)] == [250, 250]
    assert (made.imbalance_before["bytes"], made.imbalance_after["bytes"]) == (1.0, 0.0)


def test_dp_2_a_broker_can_hold_what_is_free_and_what_its_replicas_take() -> None:
    assert holdable_bytes(PlannerBroker(1, capacity=900), 100, 0) == 900
    assert holdable_bytes(PlannerBroker(1, capacity=900, free=300), 100, 0) == 400, "500 bytes are not Kafka's"
    assert holdable_bytes(PlannerBroker(1, free=300, arriving=40, arriving_unknown=2), 100, 5) == 350
    assert holdable_bytes(PlannerBroker(1, free=0), 0, 0) == 0
    assert holdable_bytes(PlannerBroker(1), 100, 0) == UNKNOWN


def test_dp_2_a_broker_that_is_full_of_other_data_has_no_share_of_the_bytes() -> None:
    parts = [partition(n, 1 + n % 2, size=50) for n in range(10)]
    listed = [PlannerBroker(n, None, True, 1000, 250) for n in (1, 2)]
    cluster = PlannerCluster([*listed, PlannerBroker(3, None, True, 1000, 0)], [topic("t", *parts)])
    made = make_plan(cluster, Goal(GoalKind.REBALANCE))
    assert [made.summary.targets[broker][0] for broker in (1, 2, 3)] == [250, 250, 0]
    assert made.summary.after[3].replicas == 0
