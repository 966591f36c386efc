"""Each check of intents finds the fault that it is for."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.phases.phases import Outcome
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Phase
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.leased_configs import ListMemory, TopicMemory
from kafka_reassign_rpc.kraft.round_records import Ended, Memory, Move, RoundRecord, Waiting
from tests.tables import for_each

from . import intent_checks
from .asked import Asked, Asking
from .intent_checks import Round, Story, story

NAME = TopicPartition("t", 0)
RECORD = MoveRecord(MoveTerms((3, 2)), (1, 2), phase=Phase.START)
BEGUN = replace(RECORD, id=5, started=5_000)


def moves(offset: int, record: MoveRecord | None, outcome: Outcome | None = None, *, reason: str = "") -> Round:
    ended = [] if outcome is None else [Ended("t", 0, outcome, (3, 2), reason)]
    return Round(offset, RoundRecord(at=offset * 1_000, moves=[Move("t", 0, record)], ended=ended))


STARTED = moves(5, RECORD)
DONE = moves(9, None, Outcome.DONE)
WHOLE = [STARTED, moves(6, replace(BEGUN, phase=Phase.MOVING)), DONE]
EVENT = {
    "event": catalogue.MOVE_COMPLETED,
    "topic": "t",
    "partition": 0,
    "id": 5,
    "target": [3, 2],
    "original": [1, 2],
    "replicas": [3, 2],
}
ASKED = Asked(NAME, (3, 2), 4.9, 5.1, is_taken=True)
WAITS = Round(7, RoundRecord(at=7_000, waiting=[Waiting(-1, "t", 0, WaitingMove(MoveTerms((4, 2))))]))
FORMER = Memory("topics", "t", topic=TopicMemory(ListMemory("0:1")))
REMEMBERED = Round(8, RoundRecord(at=8_000, memories=[FORMER]))


def all_differences(
    rounds: Sequence[Round],
    events: Sequence[dict[str, Any]] = (EVENT,),
    asked: Sequence[Asked] = (ASKED,),
    behind: Sequence[Asked] = (),
    replicas: tuple[int, ...] = (3, 2),
) -> list[str]:
    told = story(rounds)
    return [
        *intent_checks.still_open(told),
        *intent_checks.each_once(told),
        *intent_checks.in_events(told, events),
        *intent_checks.acknowledged(told, asked, behind),
        *intent_checks.nobody_else(told, behind, ()),
        *intent_checks.as_decided(told, behind, {NAME: replicas}),
    ]


def test_kr_5_a_move_that_was_asked_for_and_has_ended_once_is_no_difference_though_two_servers_tell_of_it() -> None:
    assert all_differences(WHOLE) == []
    assert all_differences(WHOLE, [EVENT, {**EVENT, "server": 2, "at": 1}]) == []


FAULTS: list[tuple[str, Callable[[], list[str]]]] = [
    ("moves to [3, 2]", lambda: all_differences([STARTED], [])),
    ("waits for [4, 2]", lambda: all_differences([*WHOLE, WAITS])),
    ("are remembered", lambda: all_differences([*WHOLE, REMEMBERED])),
    ("has no move", lambda: all_differences([*WHOLE, DONE])),
    ("without an outcome", lambda: all_differences([STARTED, moves(9, None)], [])),
    ("goes on with the id", lambda: all_differences([STARTED, moves(9, BEGUN, Outcome.DONE), moves(10, None)])),
    ("is in no event log", lambda: all_differences(WHOLE, [])),
    ("not in the state log", lambda: all_differences(WHOLE, [EVENT, {**EVENT, "id": 4}])),
    ("is told as", lambda: all_differences(WHOLE, [EVENT, {**EVENT, "reason": "another"}])),
    ("the target [3, 1] was acknowledged", lambda: all_differences(WHOLE, asked=[ASKED._replace(target=(3, 1))])),
    ("the target [3, 2] was acknowledged", lambda: all_differences(WHOLE, asked=[ASKED._replace(begin=30, end=31)])),
    ("a cancel was acknowledged", lambda: all_differences(WHOLE, asked=[ASKED._replace(target=None)])),
    ("instead of [3, 2]", lambda: all_differences(WHOLE, replicas=(2, 3))),
    (
        "instead of [1, 2]",
        lambda: all_differences(
            [STARTED, moves(6, replace(BEGUN, phase=Phase.CANCEL)), moves(9, None, Outcome.CANCELLED)],
            [{**EVENT, "event": catalogue.MOVE_CANCELLED}],
            replicas=(2, 1),
        ),
    ),
    (
        "nobody else was there",
        lambda: all_differences(
            [STARTED, moves(9, None, Outcome.SUPERSEDED)], [{**EVENT, "event": catalogue.MOVE_GONE}]
        ),
    ),
    (
        "nobody has deleted the topic",
        lambda: all_differences([STARTED, moves(9, None, Outcome.GONE)], [{**EVENT, "event": catalogue.MOVE_GONE}]),
    ),
]


@for_each("words, found", FAULTS)
def test_kr_5_each_fault_is_found(words: str, found: Callable[[], list[str]]) -> None:
    differences = found()
    assert any(words in one for one in differences), differences


def test_kr_5_what_others_did_is_theirs_and_a_partition_that_has_its_target_needs_no_move() -> None:
    behind = [Asked(NAME, (2, 3), 6.0, 7.0, is_taken=None)]
    superseded = [STARTED, moves(9, None, Outcome.SUPERSEDED)]
    assert all_differences(superseded, [{**EVENT, "event": catalogue.MOVE_GONE}], behind=behind, replicas=(2, 3)) == []
    assert all_differences(WHOLE, behind=behind, replicas=(2, 3)) == []
    kept: list[Asked] = []
    Asking(kept, {NAME: (2, 1)}, {NAME: (2, 1)}).answered({NAME: None})
    assert intent_checks.acknowledged(Story(), kept, ()) == []


def test_kr_5_a_target_that_others_have_just_reached_needs_no_move_but_for_one_of_ours_in_between() -> None:
    asked = ASKED._replace(begin=20, end=21)
    theirs = [Asked(NAME, (1, 2), 10, 11, is_taken=True), Asked(NAME, (3, 2), 15, 16, is_taken=None)]
    assert intent_checks.acknowledged(Story(), [asked], theirs) == []
    assert len(intent_checks.acknowledged(Story(), [asked], theirs[:1])) == 1
    assert len(intent_checks.acknowledged(Story(), [asked], [*theirs, theirs[0]._replace(begin=17, end=18)])) == 1
    kept = [theirs[0], theirs[1]._replace(target=(3, 1, 2))]
    assert intent_checks.acknowledged(Story(), [asked], kept) == [], "KRaft has removed what the former move was to"
    assert len(intent_checks.acknowledged(Story(), [asked], [theirs[0], theirs[1]._replace(target=(2, 3, 1))])) == 1
    between = story([moves(17, replace(RECORD, terms=MoveTerms((2, 1))))])
    assert len(intent_checks.acknowledged(between, [asked], theirs)) == 1


def test_kr_5_a_target_that_another_request_of_ours_replaced_at_once_need_not_be_in_the_log() -> None:
    asked, other = ASKED._replace(target=(2, 1), begin=4, end=6), ASKED._replace(begin=5, end=7)
    assert intent_checks.acknowledged(story(WHOLE), [asked, other], ()) == []
    for one in (other._replace(begin=6.5), other._replace(is_taken=None), other._replace(target=(4, 1))):
        assert intent_checks.acknowledged(story(WHOLE), [asked, one], ()) != []
    back = other._replace(target=(1, 2), is_there=True)
    assert intent_checks.acknowledged(Story(), [asked, back], ()) == [], "the second takes the first back"
    assert len(intent_checks.acknowledged(Story(), [asked, back._replace(begin=6.5)], ())) == 1


def test_kr_5_a_target_and_the_cancel_that_took_it_out_of_the_queue_in_the_same_round_need_not_be_in_the_log() -> None:
    asked, cancel = ASKED._replace(begin=4, end=6), ASKED._replace(target=None, begin=5, end=7)
    assert intent_checks.acknowledged(Story(), [asked, cancel], ()) == []
    for one in (asked._replace(end=4.5), asked._replace(is_taken=None), asked._replace(is_taken=False)):
        assert len(intent_checks.acknowledged(Story(), [one._replace(is_there=True), cancel], ())) == 1
    assert len(intent_checks.acknowledged(Story(), [cancel, cancel._replace(begin=5.5)], ())) == 2


def test_kr_5_a_cancel_that_finds_its_move_cancelled_by_others_has_what_it_asked_for() -> None:
    told = story([STARTED, moves(9, None, Outcome.CANCELLED_BY_OTHERS)])
    asked = ASKED._replace(target=None, begin=8, end=8.5)
    assert intent_checks.acknowledged(told, [asked], ()) == []
    assert len(intent_checks.acknowledged(told, [asked._replace(begin=30, end=31)], ())) == 1


def test_kr_5_a_cancel_that_was_refused_leaves_its_move() -> None:
    rounds = [
        STARTED,
        moves(6, replace(BEGUN, phase=Phase.CANCEL)),
        moves(7, replace(BEGUN, phase=Phase.MOVING), Outcome.REFUSED),
        DONE,
    ]
    assert all_differences(rounds, [EVENT, {**EVENT, "event": catalogue.MOVE_REFUSED, "replicas": None}]) == []


def test_kr_5_what_a_deleted_topic_was_given_is_not_what_the_next_one_of_that_name_must_have() -> None:
    told, replicas = story(WHOLE), {NAME: (2, 1)}
    assert list(intent_checks.as_decided(told, (), replicas, {"t": 10.0})) == []
    assert len(list(intent_checks.as_decided(told, (), replicas, {"t": 4.0, "other": 10.0}))) == 1


def test_kr_5_what_others_did_before_a_move_that_was_replaced_may_end_the_one_in_its_place() -> None:
    after = replace(RECORD, terms=MoveTerms((4, 2)), replaces=BEGUN)
    told = story([STARTED, moves(200, after), moves(300, None, Outcome.SUPERSEDED)])
    theirs = Asked(NAME, (2, 1), 4, 5, is_taken=True)
    assert not list(intent_checks.nobody_else(told, [theirs], ()))
    alone = story([STARTED, DONE, moves(200, after), moves(300, None, Outcome.SUPERSEDED)])
    assert len(list(intent_checks.nobody_else(alone, [theirs], ()))) == 1
