"""The only place that changes the cluster."""

from uuid import UUID

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.reassignment_algebra import LoadedAssignment, LoadedState, durable_assignment, partition_of
from kafka_reassign_rpc.core.round.round_view import (
    PartitionChange,
    PartitionsAdded,
    RoundView,
    TopicCreated,
    TopicDeleted,
    TopicDeletionStarted,
)
from kafka_reassign_rpc.core.state.broker import FailedLogDirs
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import LAST_ZXID, MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers import replay, topic_writes
from kafka_reassign_rpc.core.writers.facts import BrokersRegistered, ConfigsFound, ShutdownAsked, SizesReported
from kafka_reassign_rpc.core.writers.reload import Reloaded, take_over
from kafka_reassign_rpc.core.writers.replay import Durable, ReplayedChanges
from tests.core.build import TOPIC, TOPIC_ID, broker, cluster, learn, moving, not_moving

NOTHING = Durable({}, {}, {}, {})


def replayed(here: Cluster, view: RoundView, durable: Durable = NOTHING) -> ReplayedChanges:
    applied = ReplayedChanges()
    for _ in replay.replay(here, view, durable, 9, applied):
        pass
    return applied


def test_236_1_a_started_move_takes_its_identity_from_the_record() -> None:
    here = cluster(not_moving(1, 2))
    view = RoundView(here)
    view.add(
        PartitionChange(
            TOPIC, 0, replace(moving((1, 2), (1, 3)), move=MoveRecord(MoveTerms((1, 3)), (1, 2)), partition_epoch=11)
        )
    )
    written = Durable({TOPIC: (4, 20)}, {TopicPartition(TOPIC, 0): 12}, {TopicPartition(TOPIC, 0): (400, 77)}, {})
    applied = replayed(here, view, written)
    value = here.topics[TOPIC].partitions[0]
    assert value.move == MoveRecord(MoveTerms((1, 3)), (1, 2), 400, 77)
    assert (value.partition_epoch, value.controller_epoch, here.topics[TOPIC].version) == (12, 9, 4)
    assert here.moving == {TOPIC: {0}}
    assert applied.partitions == [(TOPIC, 0, not_moving(1, 2), value)]


def test_455_4_a_completed_move_leaves_the_index() -> None:
    here = cluster(moving((1, 2), (1, 3)), moving((1, 2), (1, 3)))
    view = RoundView(here)
    view.add(PartitionChange(TOPIC, 0, not_moving(1, 3)))
    replayed(here, view)
    assert here.moving == {TOPIC: {1}}
    view = RoundView(here)
    view.add(PartitionChange(TOPIC, 1, not_moving(1, 3)))
    replayed(here, view)
    assert here.moving == {}


def test_240_6_every_change_of_a_topic_and_its_recreation_give_a_new_revision() -> None:
    here = cluster(not_moving(1, 2))
    topic = here.topics[TOPIC]
    revisions = [topic.revision]
    for target in ((1, 3), (1, 2)):
        view = RoundView(here)
        view.add(PartitionChange(TOPIC, 0, not_moving(*target)))
        replayed(here, view)
        revisions.append(topic.revision)
    revisions.append(topic_writes.put_topic(here, TOPIC, None, topic.partitions, version=1).revision)
    assert revisions == sorted(set(revisions))


@pytest.mark.parametrize(("id_", "created", "since"), [(2, 30, 30), (7, 30, 50), (2, 31, 50)])
def test_sv_10_a_topic_that_was_created_here_has_its_id_since_then_when_it_is_read_again(
    id_: int, created: int, since: int
) -> None:
    here = cluster()
    view = RoundView(here)
    view.add(TopicCreated("new", UUID(int=2), {0: not_moving(1)}, {}))
    name = TopicPartition("new", 0)
    replayed(here, view, Durable({"new": (0, 30)}, {name: 0}, {}, {name: 30}))
    assert (here.topics["new"].id_since, here.topics["new"].partitions[0].created) == (30, 30)
    topic_writes.put_topic(here, "new", UUID(int=id_), {0: not_moving(1)}, version=4, created=created, id_since=50)
    assert here.topics["new"].id_since == since


def test_sv_10_a_topic_has_its_id_for_as_long_as_before_after_a_reload_of_all() -> None:
    known, fresh = cluster(), cluster()
    for found, since in ((known, 30), (fresh, 50)):
        topic_writes.put_topic(found, "t", UUID(int=2), {0: not_moving(1)}, version=4, created=20, id_since=since)
    list(take_over(known, fresh, Reloaded([], set())))
    assert known.topics["t"].id_since == 30


def test_sv_10_since_when_a_topic_has_the_id_that_it_was_given_is_not_known() -> None:
    here = cluster()
    topic_writes.put_topic(here, "t", None, {0: not_moving(1)}, version=0, created=20, id_since=20)
    view = RoundView(here)
    view.topic_ids["t"] = UUID(int=9)
    replayed(here, view)
    assert (here.topics["t"].id, here.topics["t"].id_since) == (UUID(int=9), LAST_ZXID)


def test_sv_4_a_topics_life() -> None:
    here = cluster()
    view = RoundView(here)
    view.add(TopicCreated("new", UUID(int=2), {0: not_moving(1)}, {"a": "b"}))
    applied = replayed(here, view, Durable({"new": (0, 30)}, {TopicPartition("new", 0): 0}, {}, {}))
    assert applied.created == ["new"]
    assert here.topic_names == {UUID(int=2): "new", TOPIC_ID: TOPIC}
    assert here.topics["new"].partitions[0].partition_epoch == 0
    assert here.topic_config("new", "a", "") == "b"

    view = RoundView(here)
    view.add(PartitionsAdded("new", {1: moving((1,), (2,))}))
    replayed(here, view, Durable({"new": (1, 30)}, {}, {}, {}))
    assert (here.topics["new"].version, sorted(here.topics["new"].partitions)) == (1, [0, 1])

    view = RoundView(here)
    view.add(TopicDeletionStarted("new"))
    assert replayed(here, view).deleting == ["new"]
    assert here.get("new", 0) is None

    view = RoundView(here)
    view.add(TopicDeleted("new"))
    assert [(topic.name, topic.created) for topic in replayed(here, view).deleted] == [("new", 30)]
    assert (list(here.topics), here.topic_names, here.moving, here.topic_configs) == (
        [TOPIC],
        {TOPIC_ID: TOPIC},
        {},
        {},
    )


def test_a_change_to_a_topic_that_is_gone_changes_nothing() -> None:
    here = Cluster()
    view = RoundView(here)
    view.add(PartitionChange("gone", 0, not_moving(1)))
    assert replayed(here, view).partitions == []


def test_a_large_round_is_replayed_in_slices() -> None:
    here = cluster(*[not_moving(1, 2)] * 500)
    view = RoundView(here)
    for index in range(500):
        view.add(PartitionChange(TOPIC, index, not_moving(2, 1)))
    assert sum(1 for _ in replay.replay(here, view, NOTHING, 1, ReplayedChanges())) == 500


def test_455_9_the_record_distinguishes_pending_deletions_from_removing_replicas() -> None:
    assigned = LoadedAssignment((1, 6, 2, 3, 4, 5), (6,), (2, 3, 4, 5))
    value = partition_of(
        assigned, LoadedState(1, 6, (1, 2, 3), 1, 12), MoveRecord(MoveTerms((1, 6)), (1, 2, 3), 400, 9)
    )
    assert (value.replicas, value.adding, value.removing, value.pending_deletion) == (
        (1, 6, 2, 3),
        (6,),
        (2, 3),
        (4, 5),
    )
    assert durable_assignment(value) == assigned
    unknown = partition_of(assigned, None, None)
    assert (unknown.removing, unknown.pending_deletion, unknown.partition_epoch) == ((2, 3, 4, 5), (), -1)


def test_455_9_a_change_of_target_that_was_interrupted_after_its_record_keeps_what_was_pending_deletion() -> None:
    # [1, 2] -> [2, 3], then [2, 4]: 3 is pending deletion. Then the record of [2, 5] was written, the topic znode not.
    assigned, state = LoadedAssignment((2, 4, 1, 3), (4,), (1, 3)), LoadedState(1, 6, (1, 2), 1, 12)
    record = MoveRecord(MoveTerms((2, 5)), (1, 2), 400, 9)
    value = partition_of(assigned, state, record, is_latest=True)
    assert (value.pending_deletion, value.removing, set(value.origin)) == ((3,), (1,), {1, 2})
    assert partition_of(assigned, state, record).pending_deletion == (), "a stock controller may have written it since"


def test_sv_4_a_topic_that_is_read_again_replaces_the_known_one() -> None:
    here = cluster(moving((1,), (2,)))
    topic_writes.put_topic(here, TOPIC, UUID(int=3), {0: not_moving(2)}, version=9)
    assert (here.moving, here.topic_names) == ({}, {UUID(int=3): TOPIC})
    topic_writes.remove_topic(here, TOPIC)
    topic_writes.remove_topic(here, TOPIC)
    assert (here.topics, here.topic_names) == ({}, {})


def test_sv_4_brokers_that_join_leave_bounce_and_change_address_are_distinguished() -> None:
    here = cluster(live=(1, 2, 3, 4))
    here.soft.shutting_down.update((1, 2, 3))
    moved = replace(broker(3), rack="r")
    changed = learn(here, BrokersRegistered({5: broker(5), 2: broker(2, epoch=999), 3: moved, 4: broker(4)}))
    assert changed == ((5,), (1,), (2,), (3,))
    assert changed
    assert list(here.brokers) == [2, 3, 4, 5]
    assert here.soft.shutting_down == {3}
    assert not learn(here, BrokersRegistered(dict(here.brokers)))


def test_sv_4_only_a_registered_broker_shuts_down() -> None:
    here = cluster(live=(1,))
    learn(here, ShutdownAsked(1, -1))
    learn(here, ShutdownAsked(2, -1))
    assert here.soft.shutting_down == {1}
    assert not here.is_live(1)


def test_configs_come_and_go() -> None:
    here = cluster(Partition((1,)))
    learn(here, ConfigsFound("topics", {TOPIC: {"a": "1"}}))
    learn(here, ConfigsFound("brokers", {"<default>": {"a": "2", "b": "3"}, "1": {"x": "y"}}))
    assert (here.topic_config(TOPIC, "a", ""), here.topic_config(TOPIC, "b", "")) == ("1", "3")
    learn(here, ConfigsFound("topics", {TOPIC: {}}))
    assert here.topic_config(TOPIC, "a", "") == "2"


def test_236_13_sizes_survive_a_second_reading_of_their_topic_and_go_with_its_deletion() -> None:
    here = cluster(*[not_moving(1, 2)] * 500)
    every = {TopicPartition(TOPIC, index): 10 * index for index in range(500)}
    assert len(list(SizesReported({**every, TopicPartition("gone", 0): 7}).apply(here))) == 501
    assert here.soft.sizes == every
    learn(here, SizesReported({TopicPartition(TOPIC, 0): None, TopicPartition(TOPIC, 1): 11}))
    assert here.soft.sizes.pop(TopicPartition(TOPIC, 1)) == 11
    assert TopicPartition(TOPIC, 0) not in here.soft.sizes
    topic_writes.put_topic(here, TOPIC, TOPIC_ID, dict(here.topics[TOPIC].partitions), version=4)
    assert len(here.soft.sizes) == 498
    topic_writes.remove_topic(here, TOPIC)
    assert here.soft.sizes == {}


def test_46_1_failures_of_brokers_and_of_log_dirs_are_put_and_forgotten_as_the_round_has_decided() -> None:
    here = cluster(not_moving(1, 2))
    here.failed, here.failed_log_dirs = {7: 50}, {1: FailedLogDirs(60, ("/a",))}
    view = RoundView(here)
    view.failed[8] = 70
    view.forget_failure(7)
    view.failed[9] = 80
    view.forget_failure(9)
    view.log_dirs[2] = FailedLogDirs(90)
    view.forget_log_dirs(1)
    view.log_dirs[3] = FailedLogDirs(95)
    view.forget_log_dirs(3)
    assert (view.failures(), view.log_dir_failures()) == ({8: 70}, {2: FailedLogDirs(90)}), "decisions see it at once"
    assert (dict(view.failed), set(view.log_dirs)) == ({8: 70, 7: None}, {1, 2}), (
        "what was noted in this round is no write"
    )
    view.gone = frozenset({8})
    view.heard = {2}
    here.soft.unheard = {1, 2}
    replayed(here, view)
    assert (here.failed, here.failed_log_dirs) == ({8: 70}, {2: FailedLogDirs(90)})
    assert (set(here.soft.gone), here.soft.unheard) == ({8}, {1})


def test_hm_2_a_topic_gets_its_id_and_another_revision_and_one_that_is_gone_gets_none() -> None:
    here = cluster(not_moving(1, 2))
    here.topics[TOPIC].id, revision = None, here.topics[TOPIC].revision
    view = RoundView(here)
    view.topic_ids = {TOPIC: UUID(int=9), "gone": UUID(int=10)}
    replayed(here, view)
    topic = here.topics[TOPIC]
    assert (topic.id, topic.id_since, here.topic_names[UUID(int=9)]) == (UUID(int=9), LAST_ZXID, TOPIC)
    assert topic.revision != revision
    assert UUID(int=10) not in here.topic_names


def test_sv_4_what_a_new_topic_lacks_in_replicas_is_kept_until_it_has_them() -> None:
    here = cluster(not_moving(1, 2))
    for missing in (1, 0):
        view = RoundView(here)
        view.add(PartitionChange(TOPIC, 0, not_moving(1, 2), missing=missing))
        assert view.missing(TOPIC, 0) == missing
        replayed(here, view)
        assert here.topics[TOPIC].missing == ({0: 1} if missing else {})
