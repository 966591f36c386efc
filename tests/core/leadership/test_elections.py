"""Elections that an operator requests: Kafka's codes and texts."""

from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import (
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    InvalidTopic,
    PreferredLeaderNotAvailable,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.leadership.elections import ElectionType, elect
from kafka_reassign_rpc.core.round.round_view import TopicDeletionStarted
from kafka_reassign_rpc.core.state.partition import NO_LEADER
from tests.core.build import TOPIC, made, moving, not_moving, view


def test_sv_4_the_preferred_replica_leads_if_it_is_live_and_in_sync() -> None:
    error, changes = elect(view(not_moving(1, 2, leader=2)), TOPIC, 0, ElectionType.PREFERRED)
    assert error is None
    assert made(changes) == replace(not_moving(1, 2), leader=1, leader_epoch=6)


def test_sv_4_g06_while_moving_the_first_target_replica_is_preferred() -> None:
    before = moving((1, 2), (3, 4), isr=(1, 2, 3))
    assert made(elect(view(before), TOPIC, 0, ElectionType.PREFERRED)[1]).leader == 3


def test_sv_4_g08_no_election_is_needed_where_the_preferred_replica_leads() -> None:
    error, changes = elect(view(not_moving(1, 2)), TOPIC, 0, ElectionType.PREFERRED)
    assert isinstance(error, ElectionNotNeeded)
    assert str(error) == "Leader election not needed for topic partition."
    assert changes == []


def test_sv_4_a_preferred_replica_that_is_late_or_dead_cannot_lead() -> None:
    for here in (view(not_moving(1, 2, isr=(2,))), view(not_moving(1, 2, leader=2), live=(2,))):
        error, changes = elect(here, TOPIC, 0, ElectionType.PREFERRED)
        assert isinstance(error, PreferredLeaderNotAvailable)
        assert str(error) == (
            "Failed to elect leader for partition t-0 under strategy PreferredReplicaPartitionLeaderElectionStrategy"
        )
        assert changes == []


def test_sv_4_an_unclean_election_takes_any_live_replica_and_marks_it_recovering() -> None:
    before = not_moving(1, 2, isr=(1,), leader=NO_LEADER)
    value = made(elect(view(before, live=(2,)), TOPIC, 0, ElectionType.UNCLEAN)[1])
    assert (value.leader, value.isr, value.leader_recovery_state, value.leader_epoch) == (2, (2,), 1, 6)


def test_sv_4_an_unclean_election_is_clean_where_it_can_be() -> None:
    before = not_moving(1, 2, leader=NO_LEADER)
    value = made(elect(view(before, live=(2,)), TOPIC, 0, ElectionType.UNCLEAN)[1])
    assert (value.leader, value.isr, value.leader_recovery_state) == (2, (2,), 0)


def test_sv_4_an_unclean_election_needs_a_missing_leader_and_a_live_replica() -> None:
    assert isinstance(elect(view(not_moving(1, 2)), TOPIC, 0, ElectionType.UNCLEAN)[0], ElectionNotNeeded)
    error, _ = elect(view(not_moving(1, 2), live=(3,)), TOPIC, 0, ElectionType.UNCLEAN)
    assert isinstance(error, EligibleLeadersNotAvailable)
    assert str(error) == (
        "Failed to elect leader for partition t-0 under strategy OfflinePartitionLeaderElectionStrategy(true)"
    )


def test_sv_4_unknown_partitions_and_topics_in_deletion_are_refused() -> None:
    error, _ = elect(view(), TOPIC, 0, ElectionType.PREFERRED)
    assert isinstance(error, UnknownTopicOrPartition)
    assert str(error) == "The partition does not exist."
    here = view(not_moving(1, 2))
    here.add(TopicDeletionStarted(TOPIC))
    error, _ = elect(here, TOPIC, 0, ElectionType.PREFERRED)
    assert isinstance(error, InvalidTopic)
    assert str(error) == "The topic is being deleted"
