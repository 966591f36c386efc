"""What a topic znode that is read again says of a partition whose move is complete."""

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.reassignment_algebra import durable_assignment, with_known_completion
from kafka_reassign_rpc.core.round.round_view import AssignmentWrite, RoundView, assignment_write
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Partition
from tests.core.build import TOPIC, cluster, moving, not_moving
from tests.tables import for_each

KNOWN = replace(not_moving(3, 1), pending_deletion=(2,))
BEFORE_COMPLETION = replace(KNOWN, replicas=(3, 1, 2), adding=(3,), removing=(2,), pending_deletion=())


@pytest.mark.parametrize(
    "read",
    [
        BEFORE_COMPLETION,
        replace(KNOWN, replicas=(3, 1, 2), removing=(2,), pending_deletion=()),  # written since, for another partition
        replace(KNOWN, replicas=(3, 1, 4, 2), removing=(4, 2), pending_deletion=()),  # 4 has confirmed its StopReplica
    ],
)
def test_455_4_the_entry_of_a_completed_move_is_no_move(read: Partition) -> None:
    assert with_known_completion(KNOWN, read) == KNOWN
    shrunk = replace(read, isr=(3,), partition_epoch=read.partition_epoch + 1)
    assert with_known_completion(KNOWN, shrunk) == replace(KNOWN, isr=(3,), partition_epoch=shrunk.partition_epoch)


def test_455_9_a_completion_is_known_from_the_entry_that_this_controller_writes() -> None:
    replicas, adding, removing = durable_assignment(KNOWN)
    read = replace(KNOWN, replicas=replicas, adding=adding, removing=removing, pending_deletion=())
    assert with_known_completion(KNOWN, read) == KNOWN


@for_each(
    ("known", "read"),
    [
        (KNOWN, not_moving(3, 1)),  # nothing is pending deletion any more
        (KNOWN, replace(BEFORE_COMPLETION, replicas=(3, 1, 2), adding=(3, 2), removing=())),  # 2 comes back
        (KNOWN, replace(BEFORE_COMPLETION, replicas=(3, 4, 1, 2), adding=(3, 4), removing=(1, 2))),  # another target
        (KNOWN, replace(BEFORE_COMPLETION, replicas=(1, 3, 2))),  # the same one in another order
        (KNOWN, replace(BEFORE_COMPLETION, isr=(1, 2))),  # a removing replica is in sync
        (KNOWN, replace(BEFORE_COMPLETION, move=MoveRecord(MoveTerms((3, 1)), (1, 2)))),  # a move that was begun since
        (KNOWN, replace(BEFORE_COMPLETION, created=KNOWN.created + 1)),  # another topic of this name
        (not_moving(3, 1), BEFORE_COMPLETION),  # a move that others have begun
        (moving((1, 2), (3, 1)), moving((1, 2), (3, 1), recorded=False)),
    ],
)
def test_455_4_what_others_have_written_since_a_completion_counts(known: Partition, read: Partition) -> None:
    assert with_known_completion(known, read) is read


@for_each(
    "too_large, after, written",
    [
        ((), KNOWN, AssignmentWrite.LATER),  # StopReplica is not confirmed
        ((), replace(KNOWN, pending_deletion=()), AssignmentWrite.NOW),
        (("other",), replace(KNOWN, pending_deletion=()), AssignmentWrite.NOW),
        ((TOPIC,), replace(KNOWN, pending_deletion=()), AssignmentWrite.LATER),
        ((TOPIC,), BEFORE_COMPLETION, AssignmentWrite.LATER),
    ],
)
def test_455_9_a_completion_is_written_once_no_replica_is_to_be_deleted_and_the_znode_has_room(
    too_large: tuple[str, ...], after: Partition, written: AssignmentWrite
) -> None:
    here = RoundView(cluster(BEFORE_COMPLETION), too_large)
    assert assignment_write(here, TOPIC, BEFORE_COMPLETION, after) is written
