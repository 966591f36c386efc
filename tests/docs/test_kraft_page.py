"""docs/kraft.md: its table has each requirement once, and the number of scenarios is that of the code."""

from collections import Counter
from collections.abc import Iterator

from tests.docs.pages import DOCS, text_of
from tests.docs.test_codes import PARTS, defined
from tests.interop.test_conformance_in_front_of_kraft import NAMES

PAGE = text_of(DOCS / "kraft.md")
TABLE = "## Each requirement in both modes"
REQUIREMENTS = frozenset(code for _, code, _ in defined() if code.partition("-")[0] in PARTS.split("|"))


def named(page: str) -> Iterator[str]:
    """Of all rows of the table, `dh-4, dh-5` and `455-1 to 455-9` one by one. Raises ValueError for other cells."""
    lines = [line for line in page.partition(TABLE)[2].partition("\n## ")[0].splitlines() if line.startswith("|")]
    for line in lines[2:]:
        for one in line.split("|")[1].strip().split(", "):
            first, _, last = one.partition(" to ")
            part, number = first.split("-")
            until = int(last.removeprefix(f"{part}-") or number)
            yield from (f"{part}-{each}" for each in range(int(number), until + 1))


def faults(page: str, requirements: frozenset[str] = REQUIREMENTS) -> list[str]:
    rows = Counter(named(page))
    return sorted(
        [f"{one} is in no row" for one in requirements - rows.keys()]
        + [f"{one} is no requirement" for one in rows.keys() - requirements]
        + [f"{one} is in {times} rows" for one, times in rows.items() if times > 1]
    )


def test_the_table_has_each_requirement_once_and_nothing_else() -> None:
    assert faults(PAGE) == []


def test_a_requirement_without_a_row_one_with_two_and_a_row_that_is_none_are_found() -> None:
    assert TABLE in PAGE
    assert faults(PAGE, REQUIREMENTS | {"kr-99"}) == ["kr-99 is in no row"]
    assert faults(PAGE.replace("| dh-7 |", "| dh-6 |")) == ["dh-6 is in 2 rows", "dh-7 is in no row"]
    assert faults(PAGE.replace(", fg-2, fg-4,", ", fg-2 to fg-4,")) == ["fg-3 is no requirement"]


def test_the_number_of_scenarios_is_that_of_the_conformance_test() -> None:
    assert f"runs {len(NAMES)} scenarios" in PAGE, f"there are {len(NAMES)}"
