"""README.md and docs/: every link and anchor resolves, every file that they name exists, the README stays short."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import CONTRIBUTING, DOCS, PAGES, README, ROOT, prose_of, text_of
from tests.tables import for_each

README_LINES = 150
SITE = ROOT / "mkdocs.yml"

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+?)\s*$", re.MULTILINE)
_ANCHOR = re.compile(r'<a id="([^"]+)">')
_NAMED = re.compile(r"`([^`\n]+)`")
_PACKAGES = "|".join(sorted(path.name for path in (ROOT / "kafka_reassign_rpc").iterdir() if path.is_dir()))
_PATH = re.compile(rf"(?:kafka_reassign_rpc|tests|benchmarks|schemas|docs|examples|{_PACKAGES})/[\w./*-]*[\w/*]")
_MODULE = re.compile(r"kafka_reassign_rpc(?:\.\w+)+")


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and as Python-Markdown make it: headings that differ there are refused."""
    plain = re.sub(r"[`*]", "", heading).lower()
    github = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
    markdown = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain)).strip("-")
    return github if github == markdown else f"{heading!r} has no anchor of its own"


def anchors(page: Path) -> set[str]:
    text = prose_of(page)
    return {slug(heading) for heading in _HEADING.findall(text)} | set(_ANCHOR.findall(text))


def names(page: Path) -> list[str]:
    """Files, folders and modules that a page names in backticks."""
    found = [name for name in _NAMED.findall(prose_of(page)) if _PATH.fullmatch(name)]
    found += [
        name.replace(".", "/")
        for name in _NAMED.findall(prose_of(page))
        if _MODULE.fullmatch(name) and name.rpartition(".")[2].islower()
    ]
    return found


def exists(name: str) -> bool:
    for place in (ROOT / name, ROOT / "kafka_reassign_rpc" / name):
        if "*" in name:
            if any(place.parent.glob(place.name)):
                return True
        elif place.exists() or place.with_suffix(".py").exists():
            return True
    return False


OWN = Path(__file__)


@for_each("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_resolves(page: Path) -> None:
    broken = []
    for link in _LINK.findall(prose_of(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
        if page != README and not target.is_relative_to(DOCS):
            broken.append(f"{link} leads out of docs/, where the site has nothing")
    assert broken == []


RECORDS = [DOCS / "mutants.md"]
"""They have the names of the commit that they name."""


@for_each("page", [one for one in PAGES if one not in RECORDS], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_is_named_exists(page: Path) -> None:
    assert [name for name in names(page) if not exists(name)] == []


def test_each_file_that_the_map_of_the_house_names_without_a_folder_exists() -> None:
    files = {path.name for path in _files_of_ours()}
    named = re.findall(r"`(\w+\.(?:py|js|j2))`", text_of(DOCS / "architecture.md"))
    assert len(named) > 20
    assert [name for name in named if name not in files] == []


def _files_of_ours() -> Iterator[Path]:
    for folder in ("kafka_reassign_rpc", "tests", "benchmarks", "docs"):
        yield from (ROOT / folder).rglob("*.*")


def test_every_file_that_a_recipe_names_exists_but_for_those_that_it_makes() -> None:
    made = re.compile("unregister_?broker", re.IGNORECASE)  # the example of the recipe for an API key
    found = [name for name in names(CONTRIBUTING) if not made.search(name)]
    assert len(found) > 50
    assert [name for name in found if not exists(name)] == []


MADE = {
    "BROKER_RACK_CHANGED",
    "ForgetBody",
    "GoalKind.LEADERS",
    "broker.rack_changed",
    "change_number",
    "OPERATOR_NOTE",
    "decode_operator_note",
    "fetch_delay_ms",
    "kafka_reassign_topics",
    "oldest_since",
    "min_live",
    "reassignment.sample.wait.ms",
    "self.healing.min.live.brokers",
}
"""What the examples of the recipes would add."""
_NAME = re.compile(r"(?:[A-Za-z_]\w*\.)?_?[A-Za-z]\w*(?=$|\()")
_SOURCES = {".py", ".json", ".js", ".md"}


def test_every_name_that_a_recipe_gives_is_one_of_the_code_and_its_examples_are_free() -> None:
    folders = [ROOT / name for name in ("kafka_reassign_rpc", "schemas", "tests", "docs", "benchmarks")]
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in _SOURCES]
    code = "\n".join(text_of(path) for path in paths if path != OWN)
    known = {*re.findall(r"\w+", code), *(path.name for path in paths)}
    recipes = prose_of(CONTRIBUTING).partition("## Campaigns")[2]
    named = {found[0] for text in _NAMED.findall(recipes) if (found := _NAME.match(text)) is not None}
    assert len(named) > 80
    assert [one for one in sorted(named - MADE) if one not in known and not known.issuperset(one.split("."))] == []
    assert [one for one in MADE if re.search(rf"\b{re.escape(one)}\b", code)] == [], "the recipe needs another example"


def test_every_page_can_be_reached_from_the_index_or_the_sites_navigation() -> None:
    navigation = re.findall(r"[\w/.-]+\.md", text_of(SITE)) if SITE.exists() else []
    seen: set[Path] = set()
    to_see = [DOCS / "index.md", *(DOCS / page for page in navigation)]
    while to_see:
        page = to_see.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        links = (link.partition("#")[0] for link in _LINK.findall(prose_of(page)) if not re.match(r"[a-z]+:", link))
        to_see += [(page.parent / link).resolve() for link in links if link]
    assert sorted(str(page.relative_to(ROOT)) for page in set(PAGES) - seen - {README}) == []


def test_the_readme_is_short() -> None:
    assert len(text_of(README).splitlines()) < README_LINES


def test_broken_links_and_missing_files_would_be_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One two\n[x](#one-two) `core/no_such_file.py` `kafka_reassign_rpc.no_such` `a/b`\n```\n# Not\n```\n"
    )
    assert anchors(page) == {"one-two"}
    assert names(page) == ["core/no_such_file.py", "kafka_reassign_rpc/no_such"]
    assert not any(exists(name) for name in names(page))
    assert exists("core/kafka_errors.py")
    assert exists("api/a45_*.py")
