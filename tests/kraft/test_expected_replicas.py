"""The replicas that a request expects, in front of KRaft: compared when it is decided, and not again by the cluster,
whose Alter has no condition. A cluster and a log in memory."""

import pytest

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment, KafkaError
from kafka_reassign_rpc.core.phases.phases import OTHER_REPLICAS
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.partition import Phase
from tests.kraft.memory_term import NAME, SELDOM, THIRD, Here
from tests.tables import for_each
from tests.waiting import eventually

ORIGINAL, TARGET, THEIRS = (1, 2), (3, 2), (4, 2)
IN_FLIGHT = (3, 2, 1)


def differs(error: KafkaError | None, expected: tuple[int, ...], found: tuple[int, ...]) -> bool:
    text = f"expected {list(expected)}, found {list(found)}"
    return isinstance(error, InvalidReplicaAssignment) and text in str(error)


@for_each("queue", [False, True])
async def test_860_5_a_target_starts_from_the_expected_replicas_alone(queue: bool) -> None:
    here = Here()
    async with here.term():
        error = await here.asked_by_api(NAME, TARGET, queue=queue, expected=(2, 1))
        assert differs(error, (2, 1), ORIGINAL)
        assert (here.cluster.told, here.log.replayed().moves, here.log.replayed().queue) == ({}, {}, {})
        assert await here.asked_by_api(NAME, TARGET, queue=queue, expected=ORIGINAL) is None
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)


async def test_860_5_a_cancel_takes_back_only_the_move_with_the_expected_replicas() -> None:
    here = Here()
    async with here.term(InFlightCaps(per_cluster=1)) as loop:
        await here.ask(NAME, TARGET)
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
        assert differs(await here.asked_by_api(NAME, None, expected=ORIGINAL), ORIGINAL, IN_FLIGHT)
        assert here.cluster.told == {NAME: TARGET}
        await here.ask(THIRD, THEIRS)
        assert differs(await here.asked_by_api(THIRD, None, expected=(2, 1)), (2, 1), ORIGINAL)
        assert len(loop.cluster.queue) == 1, "one that waits, too"
        assert await here.asked_by_api(NAME, None, expected=IN_FLIGHT) is None
        await eventually(lambda: here.named(catalogue.MOVE_CANCELLED) == [NAME])


async def test_860_5_what_others_have_changed_since_the_last_look_is_what_a_request_is_compared_with() -> None:
    """Nobody looks in between but for the request."""
    here = Here()
    partition = here.cluster.partitions[NAME]
    async with here.term(pace=SELDOM):
        partition.alter((2, 1))
        assert differs(await here.asked_by_api(NAME, TARGET, expected=ORIGINAL), ORIGINAL, (2, 1))
        assert here.cluster.told == {}
        partition.alter(ORIGINAL)
        assert await here.asked_by_api(NAME, TARGET, expected=ORIGINAL) is None, "who has just seen them is right"
        await eventually(lambda: here.log.replayed().moves[NAME].phase is Phase.MOVING)
        partition.alter(THEIRS)
        seen = partition.at.replicas
        assert differs(await here.asked_by_api(NAME, None, expected=IN_FLIGHT), IN_FLIGHT, seen)
        assert partition.at.target == THEIRS


async def test_860_5_a_broker_that_lags_does_not_have_the_expected_replicas_refused() -> None:
    here = Here()
    async with here.term(pace=SELDOM):
        here.cluster.partitions[NAME].alter((2, 1))
        here.cluster.untold, here.cluster.lagging = {"t"}, 1
        assert await here.asked_by_api(NAME, TARGET, expected=(2, 1)) is None
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)


@pytest.mark.parametrize("is_durable", [False, True], ids=["before it is durable", "before it arrives"])
async def test_860_5_what_others_change_between_the_decision_and_the_alter_is_not_prevented_and_seen_in_the_next_look(
    is_durable: bool,
) -> None:
    """Their move is over when ours arrives, which then starts from their replicas. KRaft's cancel leads back to these,
    and so does ours: to the service somebody else has given the partition other replicas."""
    here = Here()
    partition = here.cluster.partitions[NAME]

    def theirs() -> None:
        here.writer.before_commit = lambda: None
        partition.alter(THEIRS)
        partition.catch_up()

    async with here.term() as loop:
        if is_durable:
            here.cluster.before_alter = theirs
        else:
            here.writer.before_commit = theirs
        assert await here.asked_by_api(NAME, TARGET, expected=ORIGINAL) is None
        await eventually(lambda: partition.at == SeenPartition((3, 2, 4), (3,), (4,)))
        await eventually(lambda: loop.cluster.topics["t"].partitions[NAME.partition].replicas == (3, 2, 4))
        assert here.named(catalogue.MOVE_STARTED) == [NAME]
        await here.ask(NAME, None)
        await eventually(lambda: here.named(catalogue.MOVE_GONE) == [NAME])
    assert partition.at == SeenPartition((2, 4))
    [gone] = [one for one in here.events if one.event == catalogue.MOVE_GONE]
    assert (gone.reason, gone.replicas, gone.original) == (OTHER_REPLICAS, (2, 4), ORIGINAL)


async def test_860_5_what_the_next_server_finds_changed_before_the_alter_was_sent_is_left_alone() -> None:
    here = Here()
    partition = here.cluster.partitions[NAME]
    here.cluster.silent = True
    async with here.term():
        assert await here.asked_by_api(NAME, TARGET, expected=ORIGINAL) is None
        await eventually(lambda: NAME in here.cluster.told)
    partition.alter(THEIRS)
    here.cluster.silent, here.cluster.told = False, {}
    async with here.term():
        await eventually(lambda: here.named(catalogue.MOVE_GONE) == [NAME])
    assert here.cluster.told == {}
    assert partition.at.target == THEIRS
