"""What watch concludes without I/O: its pace, sizes that make no sense, the cluster from look to look."""

from kafka_reassign_rpc.client import Unreachable
from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC
from kafka_reassign_rpc.client.log_dir_calls import BrokerLogDirs, HeldReplica, LogDir
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.client.polling_pace import (
    BYTES_PER_S,
    LAST,
    LONGEST_S,
    REQUESTS_PER_S,
    SHARE,
    SOON_S,
    Ask,
    Pace,
    Traffic,
    count,
    counted,
)
from kafka_reassign_rpc.client.result_values import ClusterNode, PartitionInfo, PartitionReassignment
from kafka_reassign_rpc.client.stock_cluster import sampled, told_configs
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    KafkaError,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.views import PartitionHealth
from kafka_reassign_rpc.support.slices import run_through
from kafka_reassign_rpc.watch import seen_cluster
from kafka_reassign_rpc.watch.seen_cluster import Heard, heard, lacking
from tests.tables import for_each

NODES = [ClusterNode(one, "h", 9092, None) for one in (1, 2, 3)]
T0 = TopicPartition("t", 0)
MOVE = PartitionReassignment((1, 3, 2), (3,), (2,))


def topic(*replicas: int, name: str = "t", error: KafkaError | None = None) -> TopicInfo:
    return TopicInfo(name, {0: PartitionInfo(replicas[0], replicas, replicas)} if replicas else {}, error)


def cost(requests: int = 1, size: int = 100, took_s: float = 0.0) -> Traffic:
    made = Traffic()
    made.requests, made.bytes, made.answer_s = requests, size, took_s
    return made


def test_kr_2_moves_are_asked_for_every_second_and_more_slowly_at_rest() -> None:
    pace = Pace()
    assert pace.due_in_s(Ask.MOVES, 5.0, moving=True) == 0
    pace.asked(Ask.MOVES, 5.0, cost(took_s=0.001))
    assert (pace.due_in_s(Ask.MOVES, 5.0, moving=True), pace.due_in_s(Ask.MOVES, 5.0, moving=False)) == (1.0, 5.0)
    assert pace.due_in_s(Ask.MOVES, 6.0, moving=True) == 0
    assert pace.due_in_s(Ask.SIZES, 5.0, moving=True) == 0, "each has its own time"


def test_kr_2_who_answers_slowly_is_asked_less_often_within_a_bound() -> None:
    pace = Pace()
    due = []
    for took_s in (0.2, 30.0, 0.02, 30.0, 30.0, 30.0, 30.0, 30.0):
        pace.asked(Ask.SIZES, 0.0, cost(took_s=took_s))
        due.append(pace.due_in_s(Ask.SIZES, 0.0, moving=True))
    assert due == [SOON_S, SOON_S, *[0.02 / SHARE] * 5, LONGEST_S]


@for_each("what", Ask)
@for_each(
    "one",
    [(3, 1_000, 0.001), (3, 900_000, 0.05), (200, 100_000, 0.5), (1, 60_000_000, 0.59), (5_000, 10, 0.0)],
)
def test_kr_2_no_question_costs_more_than_its_budget(what: Ask, one: tuple[int, int, float]) -> None:
    """Asked again as soon as it may be, for an hour: requests, bytes, and seconds of the node that answers."""
    requests, size, took_s = one
    pace, now, times = Pace(), 0.0, 0
    while now < 3_600.0:
        now += took_s
        times += 1
        pace.asked(what, now, cost(requests, size, took_s))
        now += pace.due_in_s(what, now, moving=True)
    assert times * requests <= REQUESTS_PER_S * now
    assert times * size <= BYTES_PER_S * now
    assert (times - LAST) * took_s <= SHARE * now
    assert times <= now


def test_kr_2_a_call_costs_what_was_sent_and_answered_and_counts_for_the_blocks_around_it() -> None:
    with counted() as all_of_it:
        count(100, 0.5)
        with counted() as some:
            count(7, 0.25)
    count(1, 1.0)
    assert (some.requests, some.bytes, some.answer_s) == (1, 7, 0.25)
    assert (all_of_it.requests, all_of_it.bytes, all_of_it.answer_s) == (2, 107, 0.75)


def test_kr_1_sizes_below_0_and_contradictions_are_unknown() -> None:
    replicas = [
        HeldReplica("t", 0, -5, "/a", future=False),
        HeldReplica("t", 1, 7, "/a", future=False),
        HeldReplica("t", 1, 8, "/a", future=False),
        HeldReplica("t", 2, 9, "/a", future=False),
        HeldReplica("t", 2, 9, "/a", future=False),
        HeldReplica("t", 3, 9, "/a", future=True),
    ]
    answer = BrokerLogDirs(replicas, [LogDir("/a"), LogDir("/b", online=False)])
    found = sampled(answer)
    assert found is not None
    good, failed = found
    assert good.sizes == {"t": {0: None, 1: None, 2: 9}}
    assert (failed.path, failed.error) == ("/b", 56)
    assert sampled(None) is None
    found_of = {1: heard(answer), 2: heard(None), 3: heard(BrokerLogDirs(replicas[-1:], []))}
    assert found_of == {1: Heard.WRONG, 2: Heard.SILENT, 3: Heard.ALL}
    told_at = {1: 1_700_000_000_000, 2: 1_700_000_000_000}
    assert lacking(found_of, told_at) == (
        "Broker 2 (last answer 2023-11-14 22:13:20 UTC): sizes are not known, there is no answer"
    )
    assert lacking({2: Heard.SILENT, 4: Heard.SILENT}, {}) == (
        "Brokers 2 (has never answered), 4 (has never answered): sizes are not known, there is no answer"
    )
    assert lacking({1: Heard.WRONG}, told_at) == "Broker 1: sizes below 0 were reported, and count as unknown"
    assert "DESCRIBE on the cluster" in lacking({1: Heard.ALL, 2: heard(ClusterAuthorizationFailed())}, {})


def test_kr_1_a_topic_that_may_not_be_described_is_no_topic_without_a_leader() -> None:
    denied = topic(error=TopicAuthorizationFailed())
    cluster = seen_cluster.made_new(None, NODES, [denied], {T0: MOVE}, {}, 5)
    partition = cluster.get("t", 0)
    assert partition is not None
    assert (partition.is_described, partition.is_moving) == (False, True)
    assert seen_cluster.refused([denied], ()) == {"t"}
    assert seen_cluster.refused([topic(1, name="u")], ["t", "u"]) == {"t"}, "an answer about all topics leaves it out"
    assert not seen_cluster.refused([topic(1)], ["t"])
    assert not seen_cluster.missing([denied], [T0])
    assert not seen_cluster.missing([], [T0]), "absence is no evidence"
    assert seen_cluster.missing([topic(error=UnknownTopicOrPartition())], [T0]) == {T0: None}


def test_kr_1_moves_that_wait_are_the_controllers_to_tell_and_none_stays_in_sight() -> None:
    waits = PartitionReassignment((1, 2), (3,), (2,), state="waiting")
    assert seen_cluster.in_flight({T0: waits, TopicPartition("t", 1): MOVE}) == {TopicPartition("t", 1): MOVE}


def test_kr_1_a_broker_is_lost_since_it_was_first_missed_and_unknown_at_the_first_look() -> None:
    first = seen_cluster.made_new(None, NODES[:2], [topic(1, 3)], {}, {}, 5)
    assert first.failed == {3: None}
    run_through(seen_cluster.brought_up_to_date(first, NODES[:1], [topic(1, 2)], {T0: MOVE}, {}, 9))
    assert first.failed == {3: None, 2: 9}
    again = seen_cluster.made_new(first, NODES[:1], [topic(1, 2)], {}, {}, 20)
    assert again.failed == {2: 9}
    run_through(seen_cluster.brought_up_to_date(again, NODES, [topic(1, 2)], {}, {}, 30))
    assert again.failed == {}


def test_kr_3_each_look_keeps_which_partitions_have_had_a_leader() -> None:
    """At rest, in a move, and with a move that no broker describes."""
    lost = PartitionInfo(-1, (1, 2), (), leader_epoch=3)
    found = TopicInfo("t", {0: lost, 1: lost, 2: PartitionInfo(-1, (1, 2), (), leader_epoch=0)}, None)
    others = {TopicPartition("t", 3): MOVE}
    cluster = seen_cluster.made_new(None, NODES, [found], {T0: MOVE, **others}, {}, 5)
    health = PartitionHealth()
    run_through(health.update(cluster))
    assert health.now.offline == 2
    run_through(seen_cluster.brought_up_to_date(cluster, NODES, [], {T0: MOVE, **others}, {}, 6))
    run_through(health.update(cluster))
    assert health.now.offline == 2


def test_kr_2_a_look_at_many_topics_is_taken_in_steps() -> None:
    """Others have their turn between two topics."""
    cluster = seen_cluster.made_new(None, NODES, [], {}, {}, 5)
    topics = [topic(1, 2, name=f"t{number}") for number in range(300)]
    moves = {TopicPartition(one.name, 0): MOVE for one in topics}
    for steps, _ in enumerate(seen_cluster.brought_up_to_date(cluster, NODES, topics, moves, {}, 6), 1):
        assert len(cluster.topics) <= steps
    assert len(cluster.moving) == 300


def test_kr_2_a_broker_that_does_not_tell_its_throttles_is_named_and_a_right_only_where_one_is_missing() -> None:
    nobody = Unreachable("It did not answer within 5 s.")
    assert told_configs({1: [], 2: nobody, 3: nobody}, {(BROKER, ""): []}).lacking == (
        "Throttles are not all seen: brokers 2, 3: It did not answer within 5 s"
    )
    refused = told_configs(
        {1: ClusterAuthorizationFailed()}, {(BROKER, ""): [], (TOPIC, "t"): TopicAuthorizationFailed()}
    )
    assert refused.lacking == (
        "Throttles are not all seen (the operation DESCRIBE_CONFIGS on the cluster and on topics shows them):"
        " Cluster authorization failed; Topic authorization failed"
    )
    assert told_configs({1: []}, {(BROKER, ""): [], (TOPIC, "t"): UnknownTopicOrPartition()}).lacking == ""
