"""What KRaft takes to its harm, and what it refuses, known before."""

from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment
from kafka_reassign_rpc.core.phases.kraft_refusals import (
    Cordons,
    cancel_refusal,
    has_safe_replica,
    no_restore,
    target_refusal,
)
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

BEFORE_4_4, FROM_4_4 = Cordons(frozenset({3})), Cordons(frozenset({3}), staying=True)


def test_kr_6_no_replica_is_added_on_a_broker_that_takes_nothing_new() -> None:
    for cordons in (BEFORE_4_4, FROM_4_4):
        assert isinstance(target_refusal((1, 3), (1, 2), cordons), InvalidReplicaAssignment)
        assert target_refusal((1, 4), (1, 2), cordons) is None
    assert target_refusal((3, 1), (1, 3), BEFORE_4_4) is None
    assert "also for a replica that stays" in str(target_refusal((3, 1), (1, 3), FROM_4_4))
    assert target_refusal((1, 2), (1, 3), FROM_4_4) is None, "away from it a move goes"


def test_kr_6_from_4_4_on_the_original_order_with_a_cordoned_broker_is_not_restored_and_it_is_said_why() -> None:
    assert no_restore((1, 3), FROM_4_4) == "the cluster refuses a target with broker 3, cordoned"
    assert no_restore((1, 2), FROM_4_4) == no_restore((1, 3), BEFORE_4_4) == ""


def test_kr_6_a_cancel_that_leaves_nothing_in_sync_is_refused_with_krafts_words() -> None:
    name = TopicPartition("t", 0)
    assert str(cancel_refusal(name, (3,), (3,), allows_unclean=False)) == (
        "Unable to revert partition assignment for t:0 because it would require an unclean leader election."
    )
    assert cancel_refusal(name, (3,), (3,), allows_unclean=True) is None
    assert cancel_refusal(name, (1, 3), (3,), allows_unclean=False) is None


def test_kr_3_an_eligible_leader_replica_that_lives_is_safe() -> None:
    assert has_safe_replica((), (2,), {2})
    assert not has_safe_replica((), (2,), {1})
    assert has_safe_replica((1,), (), {1})
    assert not has_safe_replica((), (), {1})
