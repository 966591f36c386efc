"""What was read or reported, and that an older fact never takes the place of a newer one."""

from uuid import UUID

from msgspec.structs import replace

from kafka_reassign_rpc.core.reassignment_algebra import LoadedState
from kafka_reassign_rpc.core.settings.broker_settings import KAFKA_DEFAULTS
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveTerms, Topic
from kafka_reassign_rpc.core.state.queue_entries import BatchEntry, BatchZnode, CancelAll, QueuePart, WaitingMove
from kafka_reassign_rpc.core.state.throttle_leases import Lease
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.topics.topic_deletion import DeletionMark
from kafka_reassign_rpc.core.writers.facts import (
    CREATED_HERE,
    AdminZnodes,
    AdminZnodesFound,
    BrokersRegistered,
    BrokersStartedWith,
    ConfigsFound,
    ConfigsWritten,
    Fact,
    QueueRootFound,
    RequestsFound,
    ServersRegistered,
    SettingsFound,
    ShutdownAsked,
    SizesReported,
)
from kafka_reassign_rpc.core.writers.topic_facts import MarksFound, StaleMarksRemoved, StatesFound, TopicsFound
from tests.core.build import TOPIC, TOPIC_ID, broker, cluster, learn, not_moving
from tests.core.frozen import picture
from tests.tables import for_each

ROOT = "/admin/reassign_partitions_queue"
NAME = TopicPartition(TOPIC, 0)


def here() -> Cluster:
    """A cluster that was read at transaction 500, with something of everything that has a version."""
    made = cluster(replace(not_moving(1, 2), partition_epoch=7, created=40), live=(1, 2, 3))
    made.topics[TOPIC].version, made.topics[TOPIC].created = 4, 30
    made.since = 500
    made.batch = BatchZnode({NAME: BatchEntry((3, 4))}, version=2, changed=450)
    for _ in made.queue.put(
        QueuePart(ROOT, ROOT, {(TOPIC, 0): WaitingMove(MoveTerms((1, 3), "queue"))}, changed=460, created=41)
    ):
        pass
    learn(made, ConfigsFound("topics", {TOPIC: {"a": "1"}}, {TOPIC: (60, 3)}))
    return made


def topic(version: int, created: int = 30) -> dict[str, Topic]:
    return {TOPIC: Topic(TOPIC, TOPIC_ID, {0: not_moving(2, 3)}, version, created=created)}


OLDER: list[Fact[object]] = [
    BrokersRegistered({9: broker(9)}, read_at=499),
    ServersRegistered(frozenset({9}), read_at=499),
    SettingsFound({"x": "y"}, "", {}, read_at=499),
    RequestsFound(frozenset({"request_0000000001"}), read_at=499),
    MarksFound({TOPIC: DeletionMark(90, accepted=True)}, read_at=499),
    AdminZnodesFound(AdminZnodes(True, CancelAll(3), None), True, read_at=499),
    ConfigsFound("topics", {TOPIC: {"a": "0"}}, {TOPIC: (60, 2)}),
    ConfigsFound("topics", {TOPIC: {"a": "0"}}, {TOPIC: (59, 9)}),
    ConfigsWritten("topics", TOPIC, {"a": "0"}, (60, 2)),
    ConfigsWritten("topics", TOPIC, {"a": "0"}, CREATED_HERE),
    AdminZnodesFound(AdminZnodes(False, None, BatchZnode({}, version=1, changed=449)), True),
    QueueRootFound(ROOT, QueuePart(ROOT, ROOT, {}, changed=459, created=41)),
    StatesFound({NAME: LoadedState(2, 9, (2,), 1, 6, created=40)}),
    StatesFound({NAME: LoadedState(2, 9, (2,), 1, 8, created=39)}),
    TopicsFound(topic(3), {}, {}),
    TopicsFound(topic(9, created=29), {}, {}),
    ShutdownAsked(1, epoch=100),
]


@for_each("fact", OLDER, ids=lambda fact: type(fact).__name__)
def test_sv_3_an_older_fact_changes_nothing(fact: Fact[object]) -> None:
    made = here()
    before = picture(made)
    learn(made, fact)
    assert picture(made) == before


NEWER: list[Fact[object]] = [
    BrokersRegistered({9: broker(9)}, read_at=500),
    ServersRegistered(frozenset({9}), read_at=500),
    SettingsFound({"x": "y"}, "", {}, read_at=500),
    RequestsFound(frozenset({"request_0000000001"}), read_at=500),
    MarksFound({TOPIC: DeletionMark(90, accepted=True)}, read_at=500),
    AdminZnodesFound(AdminZnodes(True, CancelAll(3), None), True, read_at=500),
    ConfigsFound("topics", {TOPIC: {"a": "0"}}, {TOPIC: (60, 4)}),
    ConfigsFound("topics", {TOPIC: {}}),
    ConfigsWritten("topics", TOPIC, {"a": "0"}, (60, 4)),
    AdminZnodesFound(AdminZnodes(False, None, BatchZnode({}, version=3, changed=451)), True),
    QueueRootFound(ROOT, QueuePart(ROOT, ROOT, {}, changed=461, created=41)),
    StatesFound({NAME: LoadedState(2, 9, (2,), 1, 8, created=40)}),
    TopicsFound(topic(5), {}, {}),
    TopicsFound({}, {"u": "garbage"}, {}),
    ShutdownAsked(1, epoch=101),
    ShutdownAsked(1, epoch=-1),
    SizesReported({NAME: 7}),
    BrokersStartedWith(replace(KAFKA_DEFAULTS, min_insync_replicas=2), frozenset({1})),
]


@for_each("fact", NEWER, ids=lambda fact: type(fact).__name__)
def test_sv_3_a_newer_fact_counts_and_once_more_it_changes_nothing(fact: Fact[object]) -> None:
    made = here()
    before = picture(made)
    learn(made, fact)
    after = picture(made)
    assert after != before
    learn(made, fact)
    assert without_revisions(picture(made)) == without_revisions(after)


def without_revisions(of: object) -> object:
    if not isinstance(of, tuple):
        return of
    return tuple(without_revisions(one) for one in of if not (isinstance(one, tuple) and one[:1] == ("revision",)))


def test_236_11_a_config_that_others_change_back_while_it_is_written_for_a_lease_is_looked_at_again() -> None:
    made = here()
    made.leases.put(TOPIC, 0, Lease(10, (1,), (2,)))
    assert made.config_versions == {("topics", TOPIC): (60, 3)}
    learn(made, ConfigsFound("topics", {TOPIC: {"a": "1"}}, {TOPIC: (60, 5)}))  # ours was version 4
    learn(made, ConfigsWritten("topics", TOPIC, {"a": "0"}, (60, 4)))
    assert made.topic_configs[TOPIC] == {"a": "1"}
    assert made.config_versions == {("topics", TOPIC): (60, 5)}
    assert made.leases.drain() == ({TOPIC: None}, {})


def test_sv_2_marks_that_were_removed_are_gone() -> None:
    made = here()
    learn(made, MarksFound({"gone": DeletionMark(90, accepted=True), "other": DeletionMark(91, accepted=True)}))
    assert made.stale_marks == {"gone", "other"}
    learn(made, StaleMarksRemoved(frozenset({"gone"})))
    assert made.stale_marks == {"other"}


def test_sv_10_a_topic_of_the_same_name_that_is_older_is_left_out() -> None:
    made = here()
    changed = learn(made, TopicsFound({TOPIC: Topic(TOPIC, UUID(int=8), {}, 9, created=29)}, {}, {}))
    assert (changed.topics, made.topics[TOPIC].id) == ([], TOPIC_ID)


def test_236_13_a_size_that_a_waiting_move_may_have_waited_for_has_the_queue_looked_at() -> None:
    batch, unqueued = cluster(not_moving(1, 2), not_moving(1, 2)), TopicPartition(TOPIC, 1)
    batch.batch = BatchZnode({NAME: BatchEntry((3, 4))})
    for made, name, is_awaited in ((batch, NAME, True), (batch, unqueued, False), (here(), NAME, True)):
        made.queue.waiting.more = False
        learn(made, SizesReported({name: 7}))
        assert (made.soft.sizes, made.queue.waiting.more) == ({name: 7}, is_awaited)
        made.queue.waiting.more = False
        learn(made, SizesReported({name: None}))
        assert (made.soft.sizes, made.queue.waiting.more) == ({}, False)
