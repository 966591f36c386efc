"""kr-1: each reason of a stall in the table of `docs/watch.md` is one that the code gives, and is shown by a test: on
real brokers, where any release can be brought there. Something that only looks like it has another reason, or none.
"""

import ast
import inspect
import re
from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir
from kafka_reassign_rpc.core.reassignment.stall_reason import StallReason
from kafka_reassign_rpc.core.state.partition import Partition
from tests.core.build import TOPIC, moving
from tests.core.reassignment.test_progress import Answers, Followed, says
from tests.docs.pages import ROOT

PAGE = ROOT / "docs/watch.md"
RELEASES, STORAGE, HUNG = (
    f"tests/watch/{name}.py" for name in ("test_on_kraft_releases", "disks_and_tiers", "test_hung_stock_broker")
)


class Case(NamedTuple):
    """row       how its first reason begins on the page; "": it has no row
    function  of the test or of its step, in `file`; `words` stand in it
    """

    row: str
    file: str
    function: str
    words: str


UNIT = "tests/core/reassignment/test_stalls_in_kraft_mode.py"

CASES = {
    # a service in front of KRaft says it of its own moves, and `watch` has none
    "_not_begun": [Case("", UNIT, "", "not begun: the cluster has not taken it yet")],
    # Kafka 4.3 and 4.4 alone bring it about
    "_added_and_removed": [
        Case("broker 3 is both added and removed", UNIT, "", "is both added and removed, which never ends"),
    ],
    "_dead": [
        Case("broker 4 is dead", RELEASES, "a_lost_broker_is_named_in_each_of_its_states", '"fenced" if stage.release'),
    ],
    # 4.3.1 takes a replica all the same, and 4.4.0 refuses such a target: no stock broker can be brought there
    "_cordoned": [
        Case(
            "broker 4 is cordoned",
            UNIT,
            "",
            "is cordoned: no log dir takes a new replica",
        )
    ],
    "_log_dir": [
        Case("log dir /d of broker 4 has failed", STORAGE, "_a_full_disk_is_named", "is out of disk"),
        Case(
            "log dir /d of broker 4 has failed", RELEASES, "a_lost_broker_is_named_in_each_of_its_states", "has failed"
        ),
    ],
    "_no_leader": [
        Case(
            "there is no leader to copy from",
            RELEASES,
            "a_lost_broker_is_named_in_each_of_its_states",
            "there is no leader to copy from",
        )
    ],
    "_no_answer": [
        Case(
            "no answer from broker 4",
            HUNG,
            "test_kr_1_while_a_stock_broker_hangs_moves_of_others_and_their_throttles_are_seen_as_before",
            "no answer from broker",
        )
    ],
    "_never_in_sync": [
        Case(
            "full ISR never reached",
            HUNG,
            "a_target_that_has_everything_and_stays_out_of_sync_is_named",
            "full ISR never reached",
        )
    ],
    "_sick_unchanged": [
        Case(
            "broker 2 stays and is out of sync",
            RELEASES,
            "a_lost_broker_is_named_in_each_of_its_states",
            "stays and is out of sync",
        )
    ],
    "_fetches_nothing": [
        Case("broker 4 fetches nothing from broker 1", RELEASES, "throttles_are_named", "fetches nothing from broker")
    ],
    "_throttle": [Case("throttled to 5 B/s", RELEASES, "throttles_are_named", "throttled to 1 B/s (")],
    "_too_slow": [
        Case(
            "broker 4 copies 10 B/s while 20 B/s are produced",
            HUNG,
            "a_target_that_copies_too_slowly_is_named_by_one_who_may_not_see_the_throttle",
            "B/s are produced",
        )
    ],
}


def test_kr_1_each_reason_that_the_code_gives_has_a_row_and_each_row_has_a_case() -> None:
    given = re.findall(r"self\.(_\w+),", inspect.getsource(StallReason.found))
    assert list(CASES) == given
    table = PAGE.read_text().partition("## Why a move stalls")[2].partition("\n## ")[0]
    rows = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    begun = list(dict.fromkeys(case.row for cases in CASES.values() for case in cases if case.row))
    assert len(rows) == len(begun)
    assert all(row.startswith(first) for row, first in zip(rows, begun, strict=True)), "in the order of the code"


def test_kr_1_the_case_of_each_reason_exists_and_looks_for_its_words() -> None:
    for case in (one for cases in CASES.values() for one in cases):
        text = (ROOT / case.file).read_text()
        functions = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.AsyncFunctionDef)]
        if case.function:
            (found,) = [one for one in functions if one.name == case.function]
            text = ast.get_source_segment(text, found) or ""
        assert case.words in text, case


SICK_TWO = "broker 2 stays and is out of sync"
OF_ALL = {TOPIC: {0: 100}}


def throttled_sick(side: str) -> str:
    return f"{SICK_TWO}, throttled to 1 B/s ({side}): raise the throttle, or change the target to one without it"


FETCHES_NOTHING = "broker 4 fetches nothing from broker 1"
HAS_ALL = "full ISR never reached: broker 4 has everything, out of sync all the same"
TO_FOUR = moving((1, 2), (2, 4))
SICK = moving((1, 2, 3), (1, 2, 4), isr=(1, 3, 4))
LISTED = {"leader.replication.throttled.replicas": "0:1", "follower.replication.throttled.replicas": "*"}
FAST = {"leader.replication.throttled.rate": "100000000", "follower.replication.throttled.rate": "100000000"}
PART, ALL = says(b1=100, b2=100, b4=10), says(b1=100, b2=100, b4=100)


class NearMiss(NamedTuple):
    """What is not the reason (`words`), and what is `said` instead; None: the move is not stalled.

    before      what brokers tell at first, if it is something else
    rates       throttles of brokers, of the replicas that `LISTED` names
    other_gets  bytes/s that a second move gets from broker 1
    """

    words: str
    said: str | None
    value: Partition = TO_FOUR
    answers: Answers = PART
    before: Answers | None = None
    live: tuple[int, ...] = (1, 2, 3, 4)
    configs: Mapping[str, str] = LISTED
    rates: Mapping[str, Mapping[str, str]] = {}
    other_gets: int = 0


NEAR_MISSES = {
    "_not_begun": [NearMiss("not begun", FETCHES_NOTHING)],
    "_added_and_removed": [NearMiss("both added", FETCHES_NOTHING)],
    "_dead": [NearMiss("dead", FETCHES_NOTHING, moving((1, 2), (1, 4)), live=(1, 4))],
    "_cordoned": [
        NearMiss(
            "cordoned",
            FETCHES_NOTHING,
            answers={**PART, 4: [SampledLogDir("/d", cordoned=True, sizes={TOPIC: {0: 10}})]},
        ),
        NearMiss("cordoned", FETCHES_NOTHING, answers={**PART, 1: [SampledLogDir("/d", sizes=OF_ALL, cordoned=True)]}),
    ],
    "_log_dir": [
        NearMiss(
            "has failed",
            FETCHES_NOTHING,
            answers={**PART, 4: [*(PART[4] or ()), SampledLogDir("/bad", error=56)]},
        ),
        NearMiss(
            "out of disk",
            FETCHES_NOTHING,
            answers={**PART, 4: [SampledLogDir("/d", usable=90, total=500, sizes={TOPIC: {0: 10}})]},
        ),
    ],
    "_no_leader": [
        NearMiss("no leader", "broker 4 fetches nothing from broker 2", moving((1, 2), (2, 4), leader=2), live=(2, 4)),
    ],
    "_no_answer": [NearMiss("no answer", FETCHES_NOTHING, answers={**PART, 2: None})],
    "_never_in_sync": [
        NearMiss(
            "full ISR",
            f"{FETCHES_NOTHING}, or has everything: sizes do not tell",
            answers=ALL,
            configs={"cleanup.policy": "compact"},
        ),
        NearMiss(
            "full ISR", f"{FETCHES_NOTHING}, or has everything: sizes do not tell", answers={**ALL, **says(b4=101)}
        ),
        NearMiss("full ISR", FETCHES_NOTHING, before={**ALL, **says(b4=50)}, answers=says(b1=50, b2=50, b4=50)),
    ],
    "_sick_unchanged": [
        NearMiss("stays", FETCHES_NOTHING, moving((1, 2), (2, 4), isr=(1,))),
        NearMiss("mend", throttled_sick("follower 2"), SICK, rates={"2": {"follower.replication.throttled.rate": "1"}}),
        NearMiss("mend", throttled_sick("leader 1"), SICK, rates={"1": {"leader.replication.throttled.rate": "1"}}),
        NearMiss("throttled", f"{SICK_TWO}: mend it, or change the target to one without it", SICK, rates={"2": FAST}),
    ],
    "_fetches_nothing": [
        NearMiss("fetches nothing", None, before=PART, answers={**PART, **says(b4=11)}),
        NearMiss("fetches nothing", HAS_ALL, answers=ALL),
        NearMiss("fetches nothing", None, rates={"1": FAST}, other_gets=100_000_000),
    ],
    "_throttle": [
        NearMiss("throttled", FETCHES_NOTHING, rates={"1": FAST, "4": FAST}),
        NearMiss("throttled", FETCHES_NOTHING, rates={"1": {"leader.replication.throttled.rate": "20000"}}),
        NearMiss(
            "throttled",
            "broker 4 copies 16 B/s while 20000 B/s are produced",
            before=PART,
            answers=says(b1=1_200_100, b2=100, b4=1_010),
            rates={"1": FAST, "4": FAST},
        ),
        NearMiss("throttled", FETCHES_NOTHING, rates={"2": {"follower.replication.throttled.rate": "1"}}),
        NearMiss("throttled", FETCHES_NOTHING, rates={"1": FAST}, other_gets=1_000_000),
    ],
    "_too_slow": [
        NearMiss(
            "copies",
            "throttled to 20 B/s (follower 4) while 100 B/s are produced",
            before=PART,
            answers=says(b1=6_100, b2=100, b4=1_210),
            rates={"4": {"follower.replication.throttled.rate": "20"}},
        ),
        NearMiss("copies", None, before=PART, answers=says(b1=6_100, b2=100, b4=6_050)),
    ],
}


def told_beside(followed: Followed, miss: NearMiss) -> str | None:
    """Partition 1 moves from broker 1 to broker 3 meanwhile. A move that is not stalled says what it waits for."""
    followed.cluster.topics[TOPIC].partitions[1] = moving((1,), (3,))
    followed.cluster.moving[TOPIC].add(1)
    for now in range(0, 101, 5):
        source, target = {TOPIC: {0: 100, 1: 10**12}}, {TOPIC: {1: miss.other_gets * now}}
        other: Answers = {1: [SampledLogDir("/d", sizes=source)], 3: [SampledLogDir("/d", sizes=target)]}
        found = followed.look(now, {**miss.answers, **other})
    assert (found.waits_for is None) == (found.stalled is not None)
    return found.stalled


def test_kr_1_each_reason_has_something_that_looks_like_it_and_is_not_taken_for_it() -> None:
    assert list(NEAR_MISSES) == list(CASES)
    for reason, misses in NEAR_MISSES.items():
        for miss in misses:
            followed = Followed(miss.value, live=miss.live, configs=miss.configs)
            followed.cluster.broker_configs.update(miss.rates)
            told = told_beside(followed, miss) if miss.other_gets else followed.stalled(miss.answers, miss.before)
            assert told == miss.said, reason
            assert miss.words not in (told or "")
