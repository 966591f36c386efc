"""AlterPartition: a leader asks for another ISR (KafkaController.tryProcessAlterPartition)."""

from uuid import UUID

from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import (
    FencedLeaderEpoch,
    IneligibleReplica,
    InvalidRequest,
    InvalidUpdateVersion,
    KafkaError,
    NotController,
    OperationNotAttempted,
    StaleBrokerEpoch,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.leadership.isr_changes import (
    IsrChange,
    alter_partition,
    check_sender,
    higher_epochs,
    replicas_sent_again,
)
from kafka_reassign_rpc.core.round.changed_by_others import MOST_RAISED
from kafka_reassign_rpc.core.round.round_view import AssignmentWrite, Change
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from tests.core.build import TOPIC, TOPIC_ID, cluster, made, moving, not_moving, view
from tests.tables import for_each


def asked(
    isr: tuple[int, ...],
    leader_epoch: int = 5,
    partition_epoch: int = 11,
    topic: str | None = None,
    topic_id: UUID | None = TOPIC_ID,
    partition: int = 0,
    isr_broker_epochs: tuple[int, ...] | None = None,
    leader_recovery_state: int = 0,
) -> IsrChange:
    """What the leader asks for."""
    return IsrChange(
        topic, topic_id, partition, leader_epoch, partition_epoch, isr, isr_broker_epochs, leader_recovery_state
    )


LATE = not_moving(1, 2, 3, isr=(1, 2))


def error(
    change: IsrChange, *, sender: int = 1, before: Partition = LATE, version: int = 3, is_told: bool = False
) -> type[KafkaError]:
    """`is_told`: the sender learns what it does not know, with the next leader epoch."""
    answer, changes = alter_partition(view(before, live=(1, 2, 3)), sender, change, version)
    assert isinstance(answer, KafkaError)
    assert [*map(value_of, changes)] == ([replace(before, leader_epoch=before.leader_epoch + 1)] if is_told else [])
    return type(answer)


def value_of(change: Change) -> Partition:
    return made([change])


def test_sv_4_an_isr_change_keeps_the_leader_epoch_and_names_the_next_partition_epoch() -> None:
    answer, changes = alter_partition(view(LATE), 1, asked((1, 2, 3)), 3)
    assert made(changes) == answer == replace(LATE, isr=(1, 2, 3), partition_epoch=12)


def test_sv_4_a_request_repeated_in_the_same_round_gets_the_new_partition_epoch() -> None:
    round_view = view(LATE)
    first, changes = alter_partition(round_view, 1, asked((1, 2, 3)), 3)
    for change in changes:
        round_view.add(change)

    assert alter_partition(round_view, 1, asked((1, 2, 3)), 3) == (first, [])
    other, changes = alter_partition(round_view, 1, asked((1,)), 3)
    assert isinstance(other, InvalidUpdateVersion), "another ISR on top of the old epoch"
    assert made(changes) == replace(LATE, isr=(1, 2, 3), partition_epoch=12, leader_epoch=6)


def test_sv_4_a_repeated_request_gets_the_present_state_even_with_an_old_partition_epoch() -> None:
    for epoch in (11, 9):
        assert alter_partition(view(LATE), 1, asked((1, 2), partition_epoch=epoch), 3) == (LATE, [])


@for_each(
    ("change", "kind"),
    [
        (asked((1, 2, 3), topic_id=UUID(int=99)), UnknownTopicId),
        (asked((1, 2, 3), topic="nope", topic_id=None), UnknownTopicOrPartition),
        (asked((1, 2, 3), partition=4), UnknownTopicOrPartition),
        (asked((1, 2, 3), leader_epoch=6), NotController),
        (asked((1, 2, 3), partition_epoch=12), NotController),
        (asked((1, 2, 3), leader_epoch=4), FencedLeaderEpoch),
        (asked(()), InvalidRequest),
        (asked((2, 3)), InvalidRequest),
        (asked((1, 1)), InvalidRequest),
        (asked((1,), leader_recovery_state=1), InvalidRequest),
        (asked((1, 2, 3), isr_broker_epochs=(101, 102, 99)), IneligibleReplica),
    ],
)
def test_sv_4_an_invalid_isr_change_is_refused(change: IsrChange, kind: type[KafkaError]) -> None:
    assert error(change) is kind


def test_455_9_a_leader_with_a_replica_that_the_partition_does_not_have_is_refused_and_learns_the_replicas() -> None:
    here = view(LATE)
    answer, changes = alter_partition(here, 1, asked((1, 2, 6)), 3)
    assert isinstance(answer, InvalidRequest)
    assert made(changes) == replace(LATE, leader_epoch=6)
    here.add(*changes)
    assert isinstance(alter_partition(here, 1, asked((1, 2, 6)), 3).answer, FencedLeaderEpoch), "once is enough"


def test_hm_2_who_leads_without_knowing_a_state_that_others_have_written_is_refused_and_learns_it() -> None:
    """Otherwise no ISR that it asks for is ever accepted."""
    assert error(asked((1, 2, 3), partition_epoch=10), is_told=True) is InvalidUpdateVersion
    assert error(asked((1, 2, 6), partition_epoch=10), is_told=True) is InvalidUpdateVersion
    assert error(asked((1, 2)), sender=2, is_told=True) is InvalidRequest, "another leader was written"
    without_leader = replace(LATE, leader=NO_LEADER)
    assert error(asked((1,)), before=without_leader, is_told=True) is InvalidRequest


def test_sv_4_a_dead_replica_is_not_eligible() -> None:
    before = not_moving(1, 2, 3, 4, isr=(1, 2))
    assert error(asked((1, 2, 4)), before=before) is IneligibleReplica
    assert error(asked((1, 2, 4), topic=TOPIC, topic_id=None), before=before, version=1) is OperationNotAttempted


def test_sv_4_unknown_broker_epochs_are_not_checked() -> None:
    answer, _ = alter_partition(view(LATE), 1, asked((1, 2, 3), isr_broker_epochs=(-1, 102, -1)), 3)
    assert isinstance(answer, Partition)


def test_sv_4_a_recovering_leader_stays_alone_until_it_has_recovered() -> None:
    before = replace(not_moving(1, 2, isr=(1,)), leader_recovery_state=1)
    assert error(asked((1, 2), leader_recovery_state=1), before=before) is InvalidRequest
    assert made(alter_partition(view(before), 1, asked((1,)), 3).changes).leader_recovery_state == 0


def test_455_4_the_isr_change_that_completes_a_move_is_one_write_with_the_completion() -> None:
    before = moving((1, 2), (2, 3))
    answer, changes = alter_partition(view(before), 1, asked((1, 2, 3), 6, 12), 3)
    value = made(changes)
    assert (value.replicas, value.isr, value.leader, value.leader_epoch) == ((2, 3), (2, 3), 2, 7)
    assert changes[0].assignment is AssignmentWrite.LATER  # type: ignore[union-attr]
    assert isinstance(answer, Partition)
    assert (answer.leader, answer.isr, answer.leader_epoch, answer.partition_epoch) == (1, (1, 2, 3), 6, 13)


def test_sv_4_only_a_broker_as_it_is_registered_may_ask() -> None:
    here = cluster(live=(1,))
    assert check_sender(here, 1, 101) is None
    for sender, epoch in ((1, 100), (2, 102)):
        assert isinstance(check_sender(here, sender, epoch), StaleBrokerEpoch)


def test_sv_10_a_leader_with_a_live_replica_out_of_sync_is_sent_its_replicas_again_with_the_next_leader_epoch() -> None:
    def epochs(partition: Partition, *live: int) -> list[int]:
        return [change.value.leader_epoch for change in replicas_sent_again(view(partition, live=live), TOPIC, 0)]

    lagging = not_moving(1, 2, 3, isr=(1, 2))
    assert epochs(lagging, 1, 2, 3) == [lagging.leader_epoch + 1]
    assert epochs(lagging, 1, 2) == [], "it learns of its leader when it comes back"
    assert epochs(not_moving(1, 2, 3), 1, 2, 3) == []
    assert epochs(moving((1, 2), (1, 3)), 1, 2, 3) == [], "a move has had a higher epoch"
    assert epochs(replace(lagging, leader=NO_LEADER), 1, 2, 3) == []
    assert epochs(Partition((1, 2)), 1, 2) == [], "brokers know nothing of it yet"
    assert replicas_sent_again(view(), TOPIC, 0) == []


def test_hm_2_where_a_sender_knows_higher_epochs_than_zookeeper_those_of_the_state_rise_above_them() -> None:
    here, before = view(not_moving(1, 2)), not_moving(1, 2)
    by_id, by_name = asked((1,), 9, 20), asked((1,), 9, 20, topic=TOPIC, topic_id=None)
    for change in (by_id, by_name):
        assert made(higher_epochs(here, change)) == replace(before, leader_epoch=10, partition_epoch=21)
    lower = made(higher_epochs(here, asked((1,), 4, 10)))
    assert lower == replace(before, leader_epoch=6, partition_epoch=12), "above the present ones in any case"
    far = made(higher_epochs(here, asked((1,), 9, 10**6)))
    assert far.partition_epoch == before.partition_epoch + MOST_RAISED + 1
    for unknown in (asked((1,), topic_id=UUID(int=1)), asked((1,), topic="u", topic_id=None), asked((1,), partition=1)):
        assert higher_epochs(here, unknown) == []
