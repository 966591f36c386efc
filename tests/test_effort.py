"""How much of its cases a test has in which run."""

from itertools import chain

import pytest

from tests import tiers
from tests.effort import in_turn

CASES = tuple("abcdefg")


def test_outside_of_a_gate_a_test_has_all_its_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "is_gate", lambda: False)
    assert in_turn(CASES, 3) == [*CASES]


@pytest.mark.parametrize("step", [1, tiers.SHARE, tiers.PARTS])
def test_a_file_that_is_in_every_so_manieth_gate_has_had_each_case_after_a_while(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiers, "is_gate", lambda: True)
    had = []
    for number in range(50, 50 + 9 * step, step):
        monkeypatch.setattr(tiers, "submissions", lambda number=number: number)
        had.append(in_turn(CASES, 3))
    assert all(len(part) <= 3 for part in had)
    assert {*chain(*had)} == {*CASES}
