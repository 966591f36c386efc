"""kr-3: why moves stall in KRaft mode, and what of tiered topics is left to copy."""

from typing import Any

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import DEFAULT
from kafka_reassign_rpc.core.kafka_errors import KafkaStorageError
from kafka_reassign_rpc.core.reassignment.move_progress import FROM_LAST_TIERED, TIERED, MoveProgress
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir, ToldSizes, takes_nothing_new
from kafka_reassign_rpc.core.state.broker import KRaftFacts
from kafka_reassign_rpc.core.state.partition import Partition, Phase
from tests.core.build import TOPIC, moving
from tests.core.reassignment.test_progress import MOVE, NAME, PART, Answers, Followed, says
from tests.tables import for_each

ALL = says(b1=100, b2=100, b3=100, b4=100)
LEADERLESS = moving((1, 2), (3, 4), leader=-1)


def closed(broker: int, *, and_open: bool = False, holds: bool = False) -> Answers:
    """The broker's log dirs, cordoned but for one with `and_open`."""
    sizes = {TOPIC: {0: 0}} if holds else {}
    dirs = [SampledLogDir("/a", cordoned=True, sizes=sizes), SampledLogDir("/b", cordoned=not and_open)]
    return {**ALL, broker: dirs}


BOTH = Partition((1, 2, 3), (3,), (3,), leader=1, isr=(1, 2))
"""Kafka 4.3 after [1,2] -> [3,2] and then -> [1,2]."""
SICK_STAYS = "broker 2 stays and is out of sync: mend it, or change the target to one without it"
NEVER_ENDS = "broker 3 is both added and removed, which never ends: end the move with --cancel"


@for_each(
    ("options", "kraft", "value", "answers", "reason"),
    [
        ({}, KRaftFacts(), BOTH, says(b1=100, b2=100, b3=10), NEVER_ENDS),
        ({"live": (1, 2)}, KRaftFacts(), BOTH, says(b1=100, b2=100), NEVER_ENDS),
        ({"live": (1, 2, 3)}, KRaftFacts(fenced=frozenset({4})), MOVE, PART, "broker 4 is fenced"),
        ({"live": (1, 2, 3)}, KRaftFacts(fenced=frozenset({3})), MOVE, PART, "broker 4 is dead"),
        ({"live": (1, 2)}, KRaftFacts(fenced=frozenset({4})), MOVE, PART, "broker 3 is dead and broker 4 is fenced"),
        ({}, KRaftFacts(), MOVE, closed(4), "broker 4 is cordoned: no log dir takes a new replica"),
        ({}, KRaftFacts(), MOVE, closed(4, and_open=True), "broker 4 fetches nothing from broker 1"),
        ({}, KRaftFacts(), MOVE, closed(4, holds=True), "broker 4 fetches nothing from broker 1"),
        ({}, KRaftFacts(), LEADERLESS, PART, "there is no leader to copy from"),
        (
            {},
            KRaftFacts(eligible={NAME: (2,)}),
            LEADERLESS,
            PART,
            "there is no leader to copy from: broker 2 is eligible, start it",
        ),
        (
            {},
            KRaftFacts(eligible={NAME: (1, 2)}),
            LEADERLESS,
            PART,
            "there is no leader to copy from: brokers 1, 2 are eligible, start one of them",
        ),
        (
            {},
            KRaftFacts(quiet_s={4: 14.6, 3: 99.0}),
            MOVE,
            {**PART, 4: None},
            "no answer from broker 4, and no fetch of the metadata for 15 s",
        ),
        (
            {},
            KRaftFacts(quiet_s={4: 5.0}),
            MOVE,
            {**PART, 4: None},
            "no answer from broker 4, and no fetch of the metadata for 5 s",
        ),
        ({}, KRaftFacts(quiet_s={4: 4.9}), MOVE, {**PART, 4: None}, "no answer from broker 4"),
        (
            {},
            KRaftFacts(),
            moving((1, 2, 3), (1, 2, 4), isr=(1, 3, 4)),
            ALL,
            SICK_STAYS,
        ),
        # These add fewer replicas than they remove: they wait from Kafka 4.3 on, too.
        ({}, KRaftFacts(), moving((1, 2, 3), (1, 2), isr=(1, 3)), ALL, SICK_STAYS),
        ({}, KRaftFacts(), moving((1, 2, 3, 5), (1, 2, 4), isr=(1, 3, 4, 5)), ALL, SICK_STAYS),
        (
            {"live": (1, 3, 4)},
            KRaftFacts(fenced=frozenset({2})),
            moving((1, 2, 3), (1, 2, 4), isr=(1, 3, 4)),
            ALL,
            "broker 2 stays and is out of sync (broker 2 is fenced): mend it, or change the target to one without it",
        ),
    ],
)
def test_kr_3_a_stalled_move_says_what_of_kraft_stops_it(
    options: dict[str, Any], kraft: KRaftFacts, value: Partition, answers: Answers, reason: str
) -> None:
    followed = Followed(value, **options)
    followed.cluster.soft.kraft = kraft
    assert followed.stalled(answers) == reason


def test_kr_6_a_move_that_the_cluster_does_not_have_yet_is_not_kept_by_a_broker() -> None:
    assert MOVE.move is not None
    followed = Followed(replace(MOVE, move=replace(MOVE.move, phase=Phase.START)))
    assert followed.stalled(PART) == "not begun: the cluster has not taken it yet"
    followed.cluster.soft.takes_nothing = "the cluster takes nothing"
    assert followed.stalled(PART) == "not begun: the cluster takes nothing"


@pytest.mark.parametrize(
    ("cordoned", "failed", "known"),
    [
        ([True, True], [], True),
        ([True, False], [], False),
        ([None, None], [], None),
        ([True], [False], True),
        ([], [False], None),
        ([], [], None),
    ],
)
def test_kr_3_whether_a_broker_is_cordoned_is_what_its_working_log_dirs_report_and_unknown_before_kafka_4_3(
    cordoned: list[bool | None], failed: list[bool], known: bool | None
) -> None:
    dirs = [SampledLogDir("/a", cordoned=one) for one in cordoned]
    dirs += [SampledLogDir("/b", KafkaStorageError.code, cordoned=one) for one in failed]
    assert takes_nothing_new(dirs) is known
    assert takes_nothing_new(None) is None


def test_kr_2_brokers_that_are_asked_less_often_have_not_fallen_silent() -> None:
    """A move has no new sample, and no new verdict, before each of its brokers has reported its sizes again."""
    followed = Followed(moving((1,), (4,)))
    of = {TOPIC: {0}}

    def look(now: float, answers: Answers, **told: float) -> MoveProgress:
        some = {int(broker[1:]): ToldSizes(at, of) for broker, at in told.items()}
        for _ in followed.tracker.update(now, followed.cluster, answers, followed.events, {}, told=some):
            pass
        found = followed.tracker.figures(*NAME)
        assert found is not None
        return found

    assert look(0, says(b1=100), b1=0).total is None, "broker 4 has reported nothing yet"
    first = look(1, says(b1=100, b4=10), b1=0, b4=1)
    assert (first.total, first.copied) == (100, {4: 10})
    for now in range(2, 90):
        assert look(now, says(b1=100, b4=10), b1=now, b4=1) == first
    later = look(90, says(b1=100, b4=70), b1=90, b4=90)
    assert (later.copied, later.stalled) == ({4: 70}, None)
    assert look(91, {**says(b1=100), 4: None}, b1=91, b4=91).stalled is None
    assert look(155, {**says(b1=100), 4: None}, b1=155, b4=155).stalled == "no answer from broker 4"
    of = {TOPIC: {7}}
    assert look(156, says(b1=100, b4=None), b1=156, b4=156).copied == {4: 70}, "no broker was asked for this partition"


@pytest.mark.parametrize(
    ("options", "value", "answers", "reason"),
    [
        ({"live": (1, 2, 3)}, MOVE, PART, "broker 4 is dead"),
        ({}, MOVE, closed(4), "broker 4 is cordoned: no log dir takes a new replica"),
        ({}, BOTH, ALL, NEVER_ENDS),
        ({}, LEADERLESS, PART, "there is no leader to copy from"),
        ({}, MOVE, {**PART, 4: None}, "no answer from broker 4"),
        (
            {},
            moving((1, 2, 3), (1, 2, 4), isr=(1, 3, 4)),
            ALL,
            "broker 2 stays and is out of sync: mend it, or change the target to one without it",
        ),
        ({}, MOVE, PART, None),
        ({}, MOVE, ALL, None),
    ],
)
def test_kr_3_what_needs_no_time_to_show_is_said_at_the_first_look_where_that_is_asked_for(
    options: dict[str, Any], value: Partition, answers: Answers, reason: str | None
) -> None:
    followed = Followed(value, **options)
    followed.tracker = ProgressTracker(float("inf"), at_once=True)
    assert followed.look(0, answers).stalled == reason


def test_kr_3_a_replica_that_grows_no_faster_than_the_partition_is_named() -> None:
    followed = Followed(moving((1,), (4,)))
    followed.look(0, says(b1=1000, b4=10))
    for second in range(5, 60, 5):
        followed.look(second, says(b1=1000 + 20 * second, b4=10 + 10 * second))
    found = followed.look(60, says(b1=2200, b4=610)).stalled
    assert found == "broker 4 copies 10 B/s while 20 B/s are produced"


@pytest.mark.parametrize("where", [DEFAULT, "4"])
def test_kr_3_what_is_tiered_already_is_not_counted_as_left(where: str) -> None:
    """With KIP-1023 a new replica leaves it out, and it is not known how many bytes are to come."""
    followed = Followed(moving((1,), (4,)), configs={TIERED: "true"})
    assert followed.look(0, says(b1=100, b4=10)).bytes_left == 90, "without KIP-1023 the local log is copied"
    followed.cluster.broker_configs[where] = {FROM_LAST_TIERED: "true"}
    found = followed.look(5, says(b1=100, b4=20))
    assert (found.bytes_left, found.bytes_total, found.remaining_ms, found.copied) == (None, None, None, {4: 20})
    for second in range(10, 200, 10):
        assert followed.look(second, says(b1=100, b4=20 + second)).stalled is None, "it grows"
    assert followed.look(260, says(b1=100, b4=210)).stalled == (
        "broker 4 fetches nothing from broker 1, or has everything: sizes do not tell"
    )


def test_kr_3_a_topic_that_is_not_tiered_is_copied_whole() -> None:
    followed = Followed(moving((1,), (4,)))
    followed.cluster.broker_configs[DEFAULT] = {FROM_LAST_TIERED: "true"}
    assert followed.look(0, says(b1=100, b4=10)).bytes_left == 90
