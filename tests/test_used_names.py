"""What is shipped is used by what is shipped: a name that only tests use belongs to the tests."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "kafka_reassign_rpc"
USERS = (PACKAGE, ROOT / "benchmarks", ROOT / "docs")
"""Folders with code that counts as a user."""
CALLED_BY_OTHERS = {
    **dict.fromkeys(
        ("data_received", "eof_received", "pause_writing", "resume_writing"), "asyncio calls them at a protocol"
    ),
    "set_heartbeat": "aiozk calls it at a session",
}
FOUND_BY_KEY = PACKAGE / "protocol" / "messages.py"
"""Its classes are found by the API keys in their schemas."""
HAS_STUBS = PACKAGE / "protocol" / "generate_stubs.py"
"""Names kafka-python's methods for mypy."""

TEXT = re.compile(
    r'''(^ *r?)?"""(?:[^\\]|\\\s|\\.)*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|#[^\n]*''', re.MULTILINE
)
"""A string or a comment: the former is a docstring where the first group is one."""
DEFINED = re.compile(r"^ *(?:async )?def (\w+)|^ *class (\w+)|^([A-Za-z]\w*)(?:: [^=\n]+)? = ", re.MULTILINE)
WORD = re.compile(r"\w+")


def unused(texts: Mapping[Path, str], places: Iterable[Path]) -> list[str]:
    """The public functions, methods, classes and constants of `places` that no text names where it does not define
    them."""
    code = {path: TEXT.sub(lambda found: found[0] if found[1] is None else "", text) for path, text in texts.items()}
    named = Counter(word for text in code.values() for word in WORD.findall(text))
    defined = Counter(next(filter(None, names)) for path in places for names in DEFINED.findall(code[path]))
    return sorted(name for name, times in defined.items() if not name.startswith("_") and named[name] == times)


def test_no_name_of_the_package_is_for_tests_only() -> None:
    texts = {path: path.read_text() for folder in USERS for end in ("py", "html") for path in folder.rglob(f"*.{end}")}
    places = [path for path in texts if path.is_relative_to(PACKAGE) and path not in (FOUND_BY_KEY, HAS_STUBS)]
    assert unused(texts, places) == sorted(CALLED_BY_OTHERS), "move it to tests, delete it, or say above who calls it"


def test_a_name_that_stands_in_docstrings_only_is_found() -> None:
    shipped, user = Path("shipped.py"), Path("user.py")
    text = '"""See `lost`."""\nLEFT = 1\n\nclass Kept:\n    def lost(self): ...\n\n    def used(self): ...\n'
    assert unused({shipped: text, user: "USER = Kept().used()"}, [shipped]) == ["LEFT", "lost"]
