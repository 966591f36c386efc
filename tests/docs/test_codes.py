"""docs/behaviour.md defines every code that code, tests and benchmarks cite, and says which of them no test carries.

A requirement is cited as `455-3` in text and as `_455_3_` in a name; a case of Kafka's behaviour as `B10` in text and
as `_b10_` (or `b10_` at the front) in a name.
"""

import re
from collections.abc import Iterator

from tests.docs.pages import DOCS, PAGES, ROOT, prose_of, text_of

BEHAVIOUR = DOCS / "behaviour.md"
PARTS = "455|236|240|860|46|sv|dp|hm|fg|dh|mg|kr"
CHAPTERS = "A-Q"

_DEFINED = re.compile(r'^\| <a id="([^"]+)"></a>(\S+?)(\*?) \|', re.MULTILINE)
_CODE = re.compile(rf"(?:{PARTS})-\d+|[{CHAPTERS}]\d\d")
_IN_TEXT = re.compile(rf"\b(?:(?:{PARTS})-\d{{1,2}}|[{CHAPTERS}]\d\d)\b")
_NAMES = re.compile(r"\b(?:def|class) (\w+)")
_REQUIREMENT_IN_NAME = re.compile(rf"(?<=_)({PARTS})_(\d+)(?=_|$)")
_CASE_IN_NAME = re.compile(rf"(?:^|(?<=_))([{CHAPTERS.lower()}]\d\d)(?=_|$)")
_SOURCES = ("kafka_reassign_rpc", "tests", "benchmarks")


def cited_in(source: str) -> set[str]:
    """The codes that a Python file cites."""
    codes = set(_IN_TEXT.findall(source))
    for name in _NAMES.findall(source):
        codes |= {f"{part}-{number}" for part, number in _REQUIREMENT_IN_NAME.findall(name)}
        codes |= {code.upper() for code in _CASE_IN_NAME.findall(name)}
    return codes


def cited_by_folder() -> Iterator[tuple[str, str, set[str]]]:
    """Folder, file and codes, for every Python file but those of this package."""
    for folder in _SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not path.is_relative_to(ROOT / "tests" / "docs"):
                yield folder, str(path.relative_to(ROOT)), cited_in(text_of(path))


def defined() -> list[tuple[str, str, bool]]:
    """Anchor, code, and whether the page says that a test carries it, row by row."""
    return [(anchor, code, not star) for anchor, code, star in _DEFINED.findall(text_of(BEHAVIOUR))]


def test_codes_are_found_in_every_form_in_which_they_are_cited() -> None:
    source = """
async def b13_h02_a_broker_whose_session_still_stands(): "(G01), 236-9: not UTF-8, KIP-860, 1-46, a45_alter"
def test_455_3_c05_in_flight(): ...
class TestSV: "sv-4, E08; a part of 12B10"
def test_h09(): ...
"""
    assert cited_in(source) == {"B13", "H02", "G01", "236-9", "455-3", "C05", "sv-4", "E08", "H09"}


def test_every_code_that_is_cited_is_defined() -> None:
    known = {code for _, code, _ in defined()}
    missing = [f"{file}: {sorted(codes - known)}" for _, file, codes in cited_by_folder() if codes - known]
    assert not missing, "docs/behaviour.md does not define\n" + "\n".join(missing)


def test_a_code_is_defined_once_under_its_own_anchor() -> None:
    rows = defined()
    assert len({code for _, code, _ in rows}) == len(rows)
    assert [code for anchor, code, _ in rows if anchor != code.lower() or not _CODE.fullmatch(code)] == []
    anchors = re.findall(r'<a id="([^"]+)">', text_of(BEHAVIOUR))
    assert sorted(anchors) == sorted(anchor for anchor, _, _ in rows), "an anchor stands outside of a row's first cell"


def test_the_page_says_rightly_which_codes_tests_carry() -> None:
    carried = set().union(*(codes for folder, _, codes in cited_by_folder() if folder == "tests"))
    wrong = [code for _, code, says_so in defined() if says_so is not (code in carried)]
    assert not wrong, f"a * belongs behind codes that no test carries, and only there: {wrong}"


def test_documents_cite_defined_codes_only() -> None:
    known = {code for _, code, _ in defined()}
    unknown = {str(page.relative_to(ROOT)): set(_IN_TEXT.findall(prose_of(page))) - known for page in PAGES}
    assert {page: codes for page, codes in unknown.items() if codes} == {}
