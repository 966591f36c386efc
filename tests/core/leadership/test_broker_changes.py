"""What the start and the failure of brokers do to a partition."""

from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable, StaleBrokerEpoch
from kafka_reassign_rpc.core.leadership.broker_changes import (
    adapt,
    controlled_shutdown,
    controlled_shutdown_refusal,
    elect_missing_leader,
    stops_following,
    with_higher_leader_epoch,
)
from kafka_reassign_rpc.core.round.round_view import AssignmentWrite, RoundView
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.core.build import TOPIC, cluster, made, moving, not_moving, view

UNCLEAN = {"unclean.leader.election.enable": "true"}


def adapted(here: RoundView, *, down: tuple[int, ...] = ()) -> Partition:
    return made(adapt(here, TOPIC, 0, down=down))


def test_sv_4_a_healthy_partition_does_not_change() -> None:
    assert adapt(view(not_moving(1, 2, 3)), TOPIC, 0) == []
    assert adapt(view(not_moving(1, 2, 3, isr=(1, 2)), live=(1, 2)), TOPIC, 0) == []
    assert adapt(view(), TOPIC, 0) == []


def test_sv_4_a_dead_follower_leaves_the_isr() -> None:
    before = not_moving(1, 2, 3)
    assert adapted(view(before, live=(1, 3))) == replace(before, isr=(1, 3), leader_epoch=6)


def test_sv_4_a_dead_leader_is_replaced_by_the_first_live_replica_in_sync() -> None:
    value = adapted(view(not_moving(1, 2, 3, isr=(1, 3)), live=(2, 3)))
    assert (value.leader, value.isr, value.leader_epoch) == (3, (3,), 6)


def test_sv_4_the_last_in_sync_replicas_stay_in_the_isr_and_lead_again_when_they_return() -> None:
    gone = adapted(view(not_moving(1, 2), live=()))
    assert (gone.leader, gone.isr, gone.leader_epoch) == (NO_LEADER, (1, 2), 6)
    assert adapt(view(gone, live=()), TOPIC, 0) == []
    back = adapted(view(gone, live=(2,)))
    assert (back.leader, back.isr, back.leader_epoch) == (2, (2,), 7)


def test_sv_4_a_replica_out_of_sync_leads_only_where_the_topic_allows_it() -> None:
    before = not_moving(1, 2, isr=(1,))
    assert adapted(view(before, live=(2,))).leader == NO_LEADER
    value = adapted(view(before, live=(2,), configs=UNCLEAN))
    assert (value.leader, value.isr, value.leader_recovery_state) == (2, (2,), 1)


def test_sv_4_the_clusters_default_for_unclean_elections_counts() -> None:
    here = view(not_moving(1, 2, isr=(1,)), live=(2,))
    here.cluster.broker_configs["<default>"] = {"unclean.leader.election.enable": "TRUE"}
    assert adapted(here).leader == 2


def test_sv_4_a_bounced_broker_leaves_and_may_come_back() -> None:
    here = view(not_moving(1, 2), not_moving(1))
    for index in (0, 1):
        for change in adapt(here, TOPIC, index, down=(1,)):
            here.add(change)
    assert (
        here.partitions[TopicPartition(TOPIC, 0)].value.leader,
        here.partitions[TopicPartition(TOPIC, 0)].value.isr,
    ) == (2, (2,))
    assert here.partitions[TopicPartition(TOPIC, 1)].value.leader == NO_LEADER
    assert adapt(here, TOPIC, 0) == []
    assert made(adapt(here, TOPIC, 1)).leader == 1


def test_sv_4_a_new_partition_gets_its_first_live_replica_as_leader() -> None:
    value = adapted(view(Partition((4, 2, 3)), live=(2, 3)))
    assert (value.leader, value.isr, value.leader_epoch, value.partition_epoch) == (2, (2, 3), 0, -1)


def test_sv_4_a_new_partition_without_live_replicas_is_led_by_the_first_that_comes() -> None:
    first = adapted(view(Partition((4, 5)), live=(1,)))
    assert (first.leader, first.isr) == (NO_LEADER, (4, 5))
    value = adapted(view(replace(first, partition_epoch=0), live=(1, 5)))
    assert (value.leader, value.isr) == (5, (5,))


def test_455_4_the_return_of_a_broker_completes_a_move_that_waited_for_it() -> None:
    before = replace(moving((1, 2), (3, 4), isr=(3, 4)), leader=NO_LEADER)
    value = adapted(view(before, live=(3, 4)))
    assert (value.replicas, value.leader, value.is_moving) == ((3, 4), 3, False)


def test_455_4_a_replica_pending_deletion_counts_as_deleted_once_its_broker_is_gone() -> None:
    (change,) = adapt(view(replace(not_moving(1, 2), pending_deletion=(3, 4)), live=(1, 2, 4)), TOPIC, 0)
    assert (change.value.pending_deletion, change.assignment) == ((4,), AssignmentWrite.LATER)  # type: ignore[union-attr]
    (change,) = adapt(view(replace(not_moving(1, 2), pending_deletion=(3,)), live=(1, 2)), TOPIC, 0)
    assert (change.value.pending_deletion, change.assignment) == ((), AssignmentWrite.NOW)  # type: ignore[union-attr]


def leaving(*partitions: Partition, broker: int, live: tuple[int, ...] = (1, 2, 3)) -> RoundView:
    here = view(*partitions, live=live)
    here.cluster.soft.shutting_down.add(broker)
    return here


def test_sv_4_controlled_shutdown_moves_leadership_and_isr_away() -> None:
    still, changes = controlled_shutdown(leaving(not_moving(1, 2, 3), broker=1), TOPIC, 0, 1)
    value = made(changes)
    assert (still, value.leader, value.isr, value.leader_epoch) == (False, 2, (2, 3), 6)
    still, changes = controlled_shutdown(leaving(not_moving(1, 2, 3), broker=2), TOPIC, 0, 2)
    value = made(changes)
    assert (still, value.leader, value.isr) == (False, 1, (1, 3))


def test_sv_4_a_leader_without_a_replacement_stays_the_leader() -> None:
    here = leaving(not_moving(1, 2, isr=(1,)), broker=1)
    assert controlled_shutdown(here, TOPIC, 0, 1) == (True, [])
    assert adapt(here, TOPIC, 0) == []


def test_sv_4_controlled_shutdown_ignores_single_replicas_and_partitions_of_other_brokers() -> None:
    here = leaving(not_moving(1), not_moving(2, 3), not_moving(2, 1, isr=(2,)), broker=1)
    for index in (0, 1, 2, 3):
        assert controlled_shutdown(here, TOPIC, index, 1) == (False, [])


def test_sv_4_a_controlled_shutdown_of_an_old_broker_epoch_is_refused() -> None:
    here = cluster(live=(1,))
    assert controlled_shutdown_refusal(here, 1, 101) is None
    assert controlled_shutdown_refusal(here, 1, -1) is None
    assert isinstance(controlled_shutdown_refusal(here, 1, 100), StaleBrokerEpoch)
    assert isinstance(controlled_shutdown_refusal(here, 2, 100), BrokerNotAvailable)


def test_sv_4_a_replica_begins_anew_by_a_higher_leader_epoch_and_nothing_else_changes() -> None:
    before = moving((1, 2), (3, 4))
    for replica in before.replicas:
        assert made(with_higher_leader_epoch(view(before), TOPIC, 0, replica)) == replace(
            before, leader_epoch=before.leader_epoch + 1
        )


def test_sv_4_nothing_begins_anew_without_a_replica_or_a_leader_on_a_broker() -> None:
    here = view(not_moving(1, 2), not_moving(1, 2, leader=NO_LEADER))
    assert with_higher_leader_epoch(here, TOPIC, 0, 3) == []
    assert with_higher_leader_epoch(here, TOPIC, 1, 1) == []
    assert with_higher_leader_epoch(here, TOPIC, 2, 1) == []


def test_sv_4_a_broker_in_controlled_shutdown_first_stops_the_replicas_that_others_have_and_lead() -> None:
    here = view(not_moving(1, 2), not_moving(2), not_moving(2, 1, leader=NO_LEADER))
    stopped = [
        (index, broker) for index in range(4) for broker in (1, 2, 3) if stops_following(here, TOPIC, index, broker)
    ]
    assert stopped == [(0, 2), (2, 1), (2, 2)]


def test_sv_4_once_unclean_election_is_allowed_only_what_has_no_leader_gets_one() -> None:
    without = not_moving(1, 2, isr=(1,), leader=NO_LEADER)
    here = view(without, not_moving(1, 2, isr=(1,)), live=(2,), configs=UNCLEAN)
    assert made(elect_missing_leader(here, TOPIC, 0)).leader == 2
    assert elect_missing_leader(here, TOPIC, 1) == []
    assert elect_missing_leader(here, TOPIC, 2) == []
