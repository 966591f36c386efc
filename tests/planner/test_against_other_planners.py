"""Plans compared with those of other tools, on inputs that these document: bytes copied and balance."""

from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.topics.replica_placement import placements
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, GoalWeights, PlanOptions
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster, PlannerTopic
from tests.planner.clusters import partition, topic
from tests.planner.column_plans import make_plan

SIZE = 1000


def copied(stood: dict[int, tuple[int, ...]], wanted: dict[int, tuple[int, ...]]) -> int:
    return sum(SIZE * len(set(wanted[index]) - set(replicas)) for index, replicas in stood.items())


def furthest(placed: dict[int, tuple[int, ...]], brokers: int) -> float:
    """How far the fullest or emptiest broker is from the mean, as a share of it."""
    counts = [sum(broker in replicas for replicas in placed.values()) for broker in range(brokers)]
    mean = sum(counts) / brokers
    return max(abs(count - mean) for count in counts) / mean


def as_topic(placed: dict[int, tuple[int, ...]]) -> PlannerTopic:
    return topic("t", *[partition(index, *replicas, size=SIZE) for index, replicas in placed.items()])


def test_dp_2_replacing_a_broker_gives_the_result_that_topicmappr_documents() -> None:
    """kafka-kit, mapper/partitions_test.go, TestRebuildByCount: broker 1004 is replaced."""
    stood = {0: (1001, 1002), 1: (1002, 1001), 2: (1003, 1004, 1001), 3: (1004, 1003, 1002)}
    brokers = [PlannerBroker(number) for number in (1001, 1002, 1003, 1004)]
    made = make_plan(PlannerCluster(brokers, [as_topic(stood)]), Goal(GoalKind.DRAIN, (1004,)))
    assert {move.partition: move.target for move in made.moves} == {2: (1003, 1002, 1001), 3: (1001, 1003, 1002)}
    assert made.summary.bytes == made.summary.lower_bound == 2 * SIZE


def test_dp_2_a_substitute_takes_over_a_lost_broker_s_rack_as_with_topicmappr() -> None:
    """Its TestRebuildByCountSA: 1002 of rack b is lost, 1010 of rack b is new; two replicas are copied."""
    racks = {1001: "a", 1002: "b", 1003: "c", 1004: "a", 1005: "b", 1010: "b"}
    stood = {0: (1004, 1003), 1: (1003, 1004), 2: (1001, 1005), 3: (1003, 1002), 4: (1001, 1003), 5: (1002, 1001)}
    brokers = [PlannerBroker(number, rack, number != 1002) for number, rack in racks.items()]
    lost = topic("t", *[partition(n, *held, live=set(held) - {1002}, size=SIZE) for n, held in stood.items()])
    made = make_plan(PlannerCluster(brokers, [lost]), Goal(GoalKind.HEAL))
    assert {move.partition for move in made.moves} == {3, 5}
    assert made.summary.bytes == made.summary.lower_bound == 2 * SIZE
    for move in made.moves:
        assert len({racks[broker] for broker in move.target}) == 2
        assert sum(a != b for a, b in zip(move.original, move.target, strict=True)) == 1


def test_dp_2_a_new_broker_costs_a_part_of_what_generate_moves_and_is_as_even() -> None:
    """Kafka's AdminUtils spreads 10 partitions over 5 brokers as its comment shows; a sixth broker comes."""
    five, six = ([Broker(number, 0, ()) for number in range(count)] for count in (5, 6))
    stood = dict(placements(five, 10, 3, start=0, shift=0))
    assert (stood[0], stood[5]) == ((0, 1, 2), (0, 2, 3))
    generated = dict(placements(six, 10, 3, start=0, shift=0))
    snapshot = PlannerCluster([PlannerBroker(number) for number in range(6)], [as_topic(stood)])
    made = make_plan(snapshot, Goal(GoalKind.EXPAND, (5,)), PlanOptions(tolerance=0.2))
    planned = stood | {move.partition: move.target for move in made.moves}
    fair = 3 * 10 * SIZE // 6
    assert made.summary.lower_bound <= made.summary.bytes == copied(stood, planned) <= fair
    assert 2 * made.summary.bytes <= copied(stood, generated)
    assert furthest(planned, 6) <= max(furthest(generated, 6), 0.21)


def test_dp_2_an_even_cluster_is_left_alone_where_generate_moves_a_third_of_it() -> None:
    """`--generate` starts at random: the same brokers, another starting point."""
    nodes = [Broker(number, 0, ()) for number in range(5)]
    stood = dict(placements(nodes, 10, 3, start=0, shift=0))
    generated = dict(placements(nodes, 10, 3, start=2, shift=1))
    made = make_plan(
        PlannerCluster([PlannerBroker(number) for number in range(5)], [as_topic(stood)]), Goal(GoalKind.REBALANCE)
    )
    assert made.moves == ()
    assert copied(stood, generated) >= sum(map(len, stood.values())) * SIZE / 3
    assert furthest(stood, 5) == furthest(generated, 5) == 0


def test_dp_2_the_rack_aware_example_of_admin_utils_is_healed_inside_its_racks_and_evened_out_for_less() -> None:
    """Its comment: brokers 0 to 5 in racks 1, 3, 3, 2, 2, 1 are taken as 0, 3, 1, 5, 4, 2."""
    racks = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
    nodes = [Broker(number, 0, (), rack) for number, rack in racks.items()]
    stood = dict(placements(nodes, 6, 3, start=0, shift=0))
    assert stood == {0: (0, 3, 1), 1: (3, 1, 5), 2: (1, 5, 4), 3: (5, 4, 2), 4: (4, 2, 0), 5: (2, 0, 3)}

    lost = [PlannerBroker(number, rack, number != 3) for number, rack in racks.items()]
    parts = [partition(n, *held, live=set(held) - {3}, size=SIZE) for n, held in stood.items()]
    healed = make_plan(PlannerCluster(lost, [topic("t", *parts)]), Goal(GoalKind.HEAL))
    assert {move.partition: move.target for move in healed.moves} == {0: (0, 4, 1), 1: (4, 1, 5), 5: (2, 0, 4)}
    assert healed.summary.bytes == healed.summary.lower_bound == 3 * SIZE
    left = [node for node in nodes if node.id != 3]
    generated = [
        copied(stood, dict(placements(left, 6, 3, start=start, shift=0))) for start in range(5)
    ]  # --generate starts at a random broker
    assert 3 * SIZE == min(generated) < max(generated)

    grown = {**racks, 6: "rack1", 7: "rack2", 8: "rack3"}
    generated_anew = dict(
        placements([Broker(number, 0, (), rack) for number, rack in grown.items()], 6, 3, start=0, shift=0)
    )
    brokers = [PlannerBroker(number, rack) for number, rack in grown.items()]
    options = PlanOptions(tolerance=0.2, weights=GoalWeights(leaders=0))  # six leaders cannot be even on nine brokers
    made = make_plan(PlannerCluster(brokers, [as_topic(stood)]), Goal(GoalKind.EXPAND, (6, 7, 8)), options)
    planned = stood | {move.partition: move.target for move in made.moves}
    assert all(len({grown[broker] for broker in replicas}) == 3 for replicas in planned.values())
    assert made.summary.bytes == 6 * SIZE, "two replicas for each new broker"
    assert furthest(planned, 9) == 0 < furthest(generated_anew, 9)
