"""What KRaft accepts to its harm, and what it refuses: known before it is sent."""

from msgspec.structs import replace

from kafka_reassign_rpc.core.brokers.cordon import LOG_DIRS
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment
from kafka_reassign_rpc.core.phases.intent_view import IntentView
from kafka_reassign_rpc.core.phases.kraft_refusals import (
    Cordons,
    cancel_refusal,
    no_restore,
    target_refusal,
)
from kafka_reassign_rpc.core.reassignment.alter import alter, cancel
from kafka_reassign_rpc.core.state.broker import KRaftFacts
from kafka_reassign_rpc.core.state.partition import MoveTerms, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.core.build import TOPIC, cluster

NAME = TopicPartition(TOPIC, 0)

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


def test_kr_6_while_nothing_is_in_sync_an_eligible_replica_is_safe_and_a_refused_cancel_names_it() -> None:
    def refused(isr: tuple[int, ...], eligible: tuple[int, ...]) -> str:
        return str(cancel_refusal(NAME, isr, (3,), eligible, allows_unclean=False))

    words = refused((), ())
    assert words.endswith("would require an unclean leader election.")
    assert refused((), (1,)) == f"{words} Nothing is lost: start broker 1, and cancel it then."
    assert refused((), (3,)) == words, "one that is added would go with the cancel"
    assert refused((3,), (1,)) == words, "as long as somebody leads, nobody else can"


def in_front_of_kraft(partition: Partition, cordoned: int = 0, *, is_4_4: bool = False) -> IntentView:
    made = cluster(partition)
    if cordoned:
        made.broker_configs[str(cordoned)] = {LOG_DIRS: "*"}
    made.soft.kraft = KRaftFacts(no_cordoned_target=is_4_4)
    return IntentView(made)


def test_kr_6_the_refusals_hold_where_clients_ask() -> None:
    moving = Partition((3, 2, 1), (3,), (1,), leader=3, isr=(3,))
    error, changes = cancel(in_front_of_kraft(moving), NAME)
    assert isinstance(error, InvalidReplicaAssignment)
    assert "would require an unclean leader election" in str(error)
    assert changes == []
    without_isr = replace(moving, leader=-1, isr=())
    assert isinstance(cancel(in_front_of_kraft(without_isr), NAME)[0], InvalidReplicaAssignment), "KRaft refuses it"

    rest = Partition((1, 2), leader=1, isr=(1, 2))
    assert isinstance(alter(in_front_of_kraft(rest, 3), NAME, MoveTerms((1, 3)))[0], InvalidReplicaAssignment)
    assert alter(in_front_of_kraft(rest, 2), NAME, MoveTerms((3, 2)))[0] is None
    refused = alter(in_front_of_kraft(rest, 2, is_4_4=True), NAME, MoveTerms((3, 2)))
    assert isinstance(refused[0], InvalidReplicaAssignment)
    assert refused[1] == []


def test_kr_6_a_target_that_is_being_cancelled_is_not_taken_for_the_same_move() -> None:
    here = in_front_of_kraft(Partition((1, 2), leader=1, isr=(1, 2)))
    for target in ((3, 2), None):
        error, changes = cancel(here, NAME) if target is None else alter(here, NAME, MoveTerms(target))
        assert error is None
        for change in changes:
            here.add(change)
    assert isinstance(alter(here, NAME, MoveTerms((3, 2)))[0], InvalidReplicaAssignment)
    assert cancel(here, NAME)[0] is None
    assert alter(here, NAME, MoveTerms((4, 2)))[0] is None
