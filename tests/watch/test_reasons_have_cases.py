"""kr-1: each reason of a stall in the table of `docs/watch.md` is one that the code gives, and is shown by a test: on
real brokers, where any release can be brought there.
"""

import ast
import inspect
import re
from typing import NamedTuple

from kafka_reassign_rpc.core.reassignment.stall_reason import StallReason
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


CASES = {
    "_dead": [
        Case("broker 4 is dead", RELEASES, "a_lost_broker_is_named_in_each_of_its_states", '"fenced" if stage.release'),
    ],
    # 4.3.1 takes a replica all the same, and 4.4.0 refuses such a target: no stock broker can be brought there
    "_cordoned": [
        Case(
            "broker 4 is cordoned",
            "tests/core/reassignment/test_stalls_in_kraft_mode.py",
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
    "_throttle": [Case("throttled to 5 B/s", RELEASES, "throttles_are_named", "throttled to 1 B/s (")],
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
    table = PAGE.read_text().partition("## Why a move stands still")[2].partition("\n## ")[0]
    rows = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    begun = list(dict.fromkeys(case.row for cases in CASES.values() for case in cases))
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
