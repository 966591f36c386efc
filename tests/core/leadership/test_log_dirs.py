"""What a failed log dir does to the partitions that have a replica there."""

from uuid import UUID

from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import IneligibleReplica, PreferredLeaderNotAvailable
from kafka_reassign_rpc.core.leadership.broker_changes import adapt, controlled_shutdown, log_dir_answered
from kafka_reassign_rpc.core.leadership.elections import ElectionType, LeaderImbalance, elect
from kafka_reassign_rpc.core.leadership.isr_changes import IsrChange, alter_partition
from kafka_reassign_rpc.core.queue.in_flight_caps import NOTHING, makes_room, weight
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.reload import Reloaded, take_over
from kafka_reassign_rpc.core.writers.topic_writes import put_topic
from tests.core.build import TOPIC, broker, cluster, made, moving, not_moving, view

UNCLEAN = {"unclean.leader.election.enable": "true"}


def failed(here: RoundView, replica: int) -> Partition:
    """The only partition after a log dir of this broker has failed."""
    return made(log_dir_answered(here, TOPIC, 0, replica, is_offline=True))


def test_sv_10_the_first_replica_in_sync_leads_when_the_leaders_log_dir_has_failed() -> None:
    before = not_moving(1, 2, 3, isr=(1, 3))
    assert failed(view(before), 1) == replace(before, leader=3, isr=(3,), leader_epoch=6, offline=(1,))


def test_sv_10_a_follower_whose_log_dir_has_failed_leaves_the_isr() -> None:
    before = not_moving(1, 2, 3)
    assert failed(view(before), 2) == replace(before, isr=(1, 3), leader_epoch=6, offline=(2,))


def test_sv_10_without_another_replica_in_sync_there_is_no_leader_unless_the_topic_allows_an_unclean_one() -> None:
    before = not_moving(1, 2, isr=(1,))
    value = failed(view(before), 1)
    assert (value.leader, value.isr, value.offline) == (NO_LEADER, (1,), (1,))
    value = failed(view(before, configs=UNCLEAN), 1)
    assert (value.leader, value.isr, value.leader_recovery_state) == (2, (2,), 1)


def test_sv_10_a_replica_out_of_sync_whose_log_dir_has_failed_changes_nothing_but_the_metadata() -> None:
    before = not_moving(1, 2, isr=(1,))
    assert failed(view(before), 2) == replace(before, offline=(2,))


def test_sv_10_the_same_answer_again_changes_nothing_and_other_brokers_do_not_count() -> None:
    here = view(replace(not_moving(1, 2, isr=(2,)), offline=(1,)))
    assert log_dir_answered(here, TOPIC, 0, 1, is_offline=True) == []
    assert log_dir_answered(here, TOPIC, 0, 2, is_offline=False) == []
    assert log_dir_answered(here, TOPIC, 0, 3, is_offline=True) == []
    assert log_dir_answered(here, TOPIC, 1, 1, is_offline=True) == []


def test_sv_10_a_replica_that_works_again_leads_where_no_other_can() -> None:
    here = view(replace(not_moving(1, 2, isr=(1,), leader=NO_LEADER), offline=(1,)))
    value = made(log_dir_answered(here, TOPIC, 0, 1, is_offline=False))
    assert (value.leader, value.isr, value.offline) == (1, (1,), ())


def test_sv_10_a_replica_stays_offline_until_its_broker_is_gone_or_has_bounced() -> None:
    before = replace(not_moving(1, 2, 3, isr=(2, 3)), offline=(1,))
    assert adapt(view(before), TOPIC, 0) == []
    assert made(adapt(view(before, live=(2, 3)), TOPIC, 0)) == replace(before, offline=())
    assert made(adapt(view(before), TOPIC, 0, down=(1,))) == replace(before, offline=())


def test_sv_10_a_replica_on_a_failed_log_dir_is_never_elected() -> None:
    before = replace(not_moving(1, 2, 3, isr=(1, 2, 3), leader=3), offline=(1,))
    error, changes = elect(view(before), TOPIC, 0, ElectionType.PREFERRED)
    assert (type(error), changes) == (PreferredLeaderNotAvailable, [])
    here = view(before)
    imbalance = LeaderImbalance(here.cluster)
    imbalance.count([TopicPartition(TOPIC, 0)])
    assert list(imbalance.to_elect(0)) == []
    here.cluster.soft.shutting_down.add(3)
    assert made(controlled_shutdown(here, TOPIC, 0, 3)[1]).leader == 2
    headless = replace(not_moving(1, 2, isr=(1,), leader=NO_LEADER), offline=(1,))
    error, changes = elect(view(headless), TOPIC, 0, ElectionType.UNCLEAN)
    assert (error, made(changes).leader) == (None, 2)


def test_sv_10_a_replica_on_a_failed_log_dir_does_not_join_the_isr() -> None:
    before = replace(not_moving(1, 2, isr=(1,)), offline=(2,))
    change = IsrChange(TOPIC, None, 0, before.leader_epoch, before.partition_epoch, (1, 2))
    answer, changes = alter_partition(view(before), 1, change, 2)
    assert (type(answer), changes) == (IneligibleReplica, [])


def test_455_4_a_move_is_complete_and_led_without_a_replica_on_a_failed_log_dir() -> None:
    before = replace(moving((1, 2), (3, 4), isr=(1, 2, 3, 4)), offline=(3,))
    value = made(adapt(view(before), TOPIC, 0))
    assert (value.leader, value.isr, value.is_moving) == (1, (1, 2, 4), True), "3 has to catch up again"
    before = replace(moving((1, 2), (3, 4), isr=(1, 3, 4)), offline=(1,))
    value = made(adapt(view(before), TOPIC, 0))
    assert (value.leader, value.isr, value.replicas) == (3, (3, 4), (3, 4))


def test_236_13_a_move_whose_target_replica_is_offline_does_not_take_the_place_of_another() -> None:
    before = moving((1, 2), (3, 2))
    after = replace(before, offline=(3,))
    here, name = cluster(before), TopicPartition(TOPIC, 0)
    assert weight(here, name, before) != NOTHING
    assert weight(here, name, after) == NOTHING
    assert makes_room(before, after)


def test_sv_10_reading_the_cluster_again_keeps_what_the_same_brokers_have_answered_about_the_same_topic() -> None:
    known = cluster(replace(not_moving(1, 2, 3), offline=(1, 2)))
    fresh = cluster(not_moving(1, 2, 3))
    fresh.brokers[2] = broker(2, epoch=900)
    list(take_over(known, fresh, Reloaded([], set())))
    assert fresh.topics[TOPIC].partitions[0].offline == (1,)
    known = cluster(replace(not_moving(1, 2, 3), offline=(1, 2)))
    put_topic(fresh, TOPIC, UUID(int=8), {0: not_moving(1, 2, 3)}, version=0)
    list(take_over(known, fresh, Reloaded([], set())))
    assert fresh.topics[TOPIC].partitions[0].offline == ()
