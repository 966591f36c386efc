"""Each check of what operators have set finds the fault that it is for."""

from collections.abc import Sequence

from msgspec.structs import replace

from kafka_reassign_rpc.core.healing.repair_targets import repair_reason
from kafka_reassign_rpc.core.phases.phases import Outcome
from kafka_reassign_rpc.core.settings.healing_settings import INTERVAL, MAX_BROKERS
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.core.settings.windows import WINDOWS
from kafka_reassign_rpc.core.state.partition import HEAL, QUEUE, MoveRecord, MoveTerms, Phase
from kafka_reassign_rpc.core.state.queue_entries import Held, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.round_records import JOINS, Ended, Move, RoundRecord, Setting, Waiting
from tests.tables import for_each

from .intent_checks import Round, story
from .rule_checks import Cordon, Lost, Placed, by_rules, not_over_cordons, repaired_in_time, unrepaired

NAME = TopicPartition("t", 0)
QUEUED = WaitingMove(MoveTerms((3, 2), QUEUE), origin=(1, 2))
REPAIR = WaitingMove(MoveTerms((3, 2), HEAL, repair_reason([1])), origin=(1, 2))
LOST = [Lost(1, limit_s=5, begin=10, end=60)]


def settings(offset: int, *changes: tuple[str, str | None]) -> Round:
    return Round(offset, RoundRecord(at=offset * 1_000, settings=[Setting(*one) for one in changes]))


def joins(offset: int, move: WaitingMove) -> Round:
    return Round(offset, RoundRecord(at=offset * 1_000, waiting=[Waiting(JOINS, *NAME, move)]))


def begins(offset: int, move: WaitingMove, part: int | None = None) -> Round:
    """It leaves this part of the queue."""
    record = MoveRecord(move.terms, (1, 2), phase=Phase.START)
    left = [] if part is None else [Waiting(part, *NAME)]
    return Round(offset, RoundRecord(at=offset * 1_000, moves=[Move(*NAME, record)], waiting=left))


def holds(offset: int, move: WaitingMove, part: int) -> Round:
    return Round(offset, RoundRecord(at=offset * 1_000, waiting=[Waiting(part, *NAME, move)]))


HEALS = settings(5, (INTERVAL, "5000"))
CLOSED = settings(5, (WINDOWS, "tue 00:00-00:01 UTC"))
DISABLED = settings(5, (ENABLED, "false"))
BRAKE = settings(6, (MAX_BROKERS, "0"))
HELD = replace(QUEUED, held=Held(1, "ops"))


def test_kr_5_what_waits_until_it_may_begin_and_a_repair_of_a_lost_broker_are_no_fault() -> None:
    for closed in (CLOSED, DISABLED):
        opened = settings(9, (closed.record.settings[0].name, None))
        assert not list(by_rules([closed, joins(7, QUEUED), opened, begins(10, QUEUED, 7)], ()))
    released = holds(8, QUEUED, 6)
    assert not list(by_rules([joins(6, QUEUED), holds(7, HELD, 6), released, begins(9, QUEUED, 6)], ()))
    assert not list(by_rules([HEALS, joins(20, REPAIR), begins(21, REPAIR, 20)], LOST))
    assert not list(by_rules([HEALS, CLOSED, joins(20, REPAIR), begins(21, REPAIR, 20)], LOST)), (
        "windows let it through"
    )
    smaller = replace(QUEUED, terms=MoveTerms((2,)))
    assert not list(by_rules([CLOSED, begins(10, smaller)], ())), "it copies nothing"
    assert repaired_in_time([joins(20, REPAIR), joins(70, REPAIR), joins(21, QUEUED)], LOST[0]) == 1


def test_kr_5_a_repair_may_be_a_move_that_a_client_has_in_the_queue_whatever_that_does() -> None:
    asked = replace(QUEUED, terms=MoveTerms((3, 4)))
    adopts = joins(20, replace(REPAIR, terms=replace(REPAIR.terms, target=(3, 4)), origin=(1, 2)))
    assert not list(by_rules([HEALS, joins(8, asked), adopts], LOST))
    assert len(list(by_rules([HEALS, adopts], LOST))) == 1
    assert len(list(by_rules([HEALS, joins(8, QUEUED), adopts], LOST))) == 1


def test_kr_5_a_repair_need_not_keep_the_target_of_a_move_in_flight_to_a_broker_that_is_away() -> None:
    repairs = [HEALS, joins(20, replace(REPAIR, origin=(4, 2)))]
    for broker in (4, 5):  # in its target, or adding and in no target
        assert not list(by_rules(repairs, [*LOST, Lost(broker, limit_s=5, begin=18, end=60)]))
    for one in (Lost(4, limit_s=5, begin=10, end=15), Lost(4, limit_s=5, begin=30, end=60), Lost(3, 5, 10, 60)):
        assert len(list(by_rules(repairs, [*LOST, one]))) == 1


def test_kr_5_another_target_for_what_moves_already_is_no_begin_and_who_asks_again_is_not_held() -> None:
    assert not list(by_rules([begins(3, QUEUED), DISABLED, begins(9, QUEUED)], ()))
    other = replace(QUEUED, terms=MoveTerms((3, 2)))
    assert not list(by_rules([joins(6, HELD), begins(9, other, 6)], ()))


def test_kr_5_a_target_that_others_have_given_before_is_no_begin_when_a_client_asks_for_it() -> None:
    for target, count in (((3, 2), 0), ((1, 2), 1)):
        of_others = MoveRecord(MoveTerms(target), (1, 2), phase=Phase.MOVING)
        record = MoveRecord(MoveTerms((3, 2)), (1, 2), phase=Phase.START, replaces=of_others)
        begun = Round(9, RoundRecord(at=9_000, moves=[Move(*NAME, record)]))
        assert len(list(by_rules([DISABLED, begun], ()))) == count


def test_kr_5_a_cancel_of_what_others_have_begun_is_no_begin() -> None:
    for phase in (Phase.CANCEL, Phase.RESTORE):
        of_others = MoveRecord(MoveTerms((1, 3)), (1, 2), phase=phase)
        assert not list(by_rules([DISABLED, Round(9, RoundRecord(at=9_000, moves=[Move(*NAME, of_others)]))], ()))


FAULTS: list[tuple[str, Sequence[Round]]] = [
    ("and no window is open", [CLOSED, joins(7, QUEUED), begins(10, QUEUED, 7)]),
    ("and reassignments are disabled", [DISABLED, begins(10, QUEUED)]),
    ("and reassignments are disabled", [HEALS, DISABLED, joins(20, REPAIR), begins(21, REPAIR, 20)]),
    ("and it is held", [joins(6, QUEUED), holds(7, HELD, 6), begins(9, QUEUED, 6)]),
    ("and self-healing is off", [joins(20, REPAIR)]),
    ("and the brake holds", [HEALS, BRAKE, joins(20, REPAIR)]),
    ("and the brake holds", [HEALS, joins(20, REPAIR), settings(21, (MAX_BROKERS, "0")), begins(30, REPAIR, 20)]),
    ("was not away for longer", [HEALS, joins(12, REPAIR)]),
    ("was not away for longer", [HEALS, joins(70, REPAIR)]),
    ("replaces no broker", [HEALS, joins(20, replace(REPAIR, terms=MoveTerms((3, 2), HEAL, "why not")))]),
    ("from [1, 4] to [3, 2]", [HEALS, joins(20, replace(REPAIR, origin=(1, 4)))]),
    ("from [1, 2, 4] to [3, 2]", [HEALS, joins(20, replace(REPAIR, origin=(1, 2, 4)))]),
]


@for_each("words, rounds", FAULTS)
def test_kr_5_each_broken_rule_is_found(words: str, rounds: Sequence[Round]) -> None:
    differences = list(by_rules(rounds, LOST))
    assert any(words in one for one in differences), differences


def test_kr_5_a_replica_that_came_to_a_cordoned_broker_is_found_and_one_that_was_there_is_not() -> None:
    done = Ended(*NAME, Outcome.DONE, (3, 2))
    told = story([begins(20, QUEUED), Round(30, RoundRecord(at=30_000, moves=[Move(*NAME)], ended=[done]))])
    cordon = Cordon(3, begin=9, known=10, end=40)
    assert len(list(not_over_cordons(told, [cordon]))) == 1
    for other in (Cordon(2, 9, 10, 40), Cordon(1, 9, 10, 40), Cordon(3, 9, 25, 40), Cordon(3, 9, 10, 25)):
        assert not list(not_over_cordons(told, [other]))


def test_kr_5_what_a_repair_could_have_replaced_is_unrepaired_until_it_is_elsewhere_or_somebody_moves_it() -> None:
    was = Placed((1, 2), "id")
    for now in (Placed((3, 2), "id"), Placed((1, 2), "another"), Placed((1, 2), "id", is_moving=True), None):
        assert unrepaired(1, (1, 2, 3), {NAME: was}, {} if now is None else {NAME: now}) == []
    assert unrepaired(1, (1, 2, 3), {NAME: was}, {NAME: was}) == [NAME]
    for other in (Placed((3, 2), "id"), Placed((1, 2, 3), "id"), Placed((1, 2), "id", is_moving=True)):
        assert unrepaired(1, (1, 2, 3), {NAME: other}, {NAME: other}) == []
