"""Results as JSON, and what has become worse between two of them.

A figure is one cell of a table. Its key is the benchmark, the table, the row and the column. The unit of a figure of
this product says which direction is worse: more seconds, more bytes, fewer of anything per second. Figures of stock
Kafka and other tools, ratios, percentages and counts are shown but not judged: they depend on the machine, or follow
from other figures.
"""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.tables import Table

ROOT = Path(__file__).parents[1]
PAGE = "docs/benchmarks.json"
"""The results beside docs/benchmarks.md; a path in the repository."""
NOISE = 0.25
"""How much worse a figure may be: the two shared cores of the page have slow and fast hours."""

_CELL = re.compile(r"[<>~]?(-?[\d,]*\.?\d+) ?(us|µs|ms|s|B|[kMG]i?B|x|%)?(/s)?( \(\d+\))?")
_SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_BYTES = {
    "B": 1.0,
    **{f"{prefix}B": 1000.0**power for power, prefix in enumerate("kMG", 1)},
    **{f"{prefix}iB": 1024.0**power for power, prefix in enumerate("kMG", 1)},
}
_OF_OTHERS = re.compile(r"\b(stock|ZooKeeper mode|KRaft|topicmappr|--generate)\b")


class NoResults(Exception):
    """There is no such file or commit, or it holds no results. The message says which."""


class Figure(NamedTuple):
    """`unit` is "s", "B", "/s" or "B/s", or "" if the figure is not judged. `text` is what the table shows."""

    value: float
    unit: str
    text: str


class Change(NamedTuple):
    name: str
    old: Figure | None
    new: Figure | None

    @property
    def ratio(self) -> float | None:
        """New over old; None if one is missing or the division is impossible."""
        if self.old is None or self.new is None or not self.old.value or self.old.unit != self.new.unit:
            return None
        return self.new.value / self.old.value

    def is_worse(self, noise: float) -> bool:
        """Whether it takes over 1 + noise times as long, or gets less than 1 / (1 + noise) of the work done per
        second.
        """
        if self.old is None or self.new is None or not self.new.unit or self.old.unit != self.new.unit:
            return False
        values = (self.old.value, self.new.value)
        less, more = reversed(values) if self.new.unit.endswith("/s") else values
        return more > less * (1 + noise)


def document(tables: Mapping[str, Sequence[Table]], *, machine: str, quick: bool) -> dict[str, Any]:
    """The tables of each benchmark, each with the commit that was measured, since a run may cover only some
    benchmarks.
    """
    commit, changed = _git("rev-parse", "HEAD"), _git("status", "--porcelain", "--untracked-files=no")
    about = {"commit": (commit or "unknown").strip(), "changed": bool(changed), "machine": machine, "quick": quick}
    return {name: {**about, "tables": [table._asdict() for table in found]} for name, found in tables.items()}


def written(results: Mapping[str, Any], file: Path) -> None:
    """Put results into a file, and keep those of other benchmarks in it."""
    before = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**before, **results}, indent=1, ensure_ascii=False) + "\n")


def read(place: str) -> dict[str, Any]:
    """The results in a file, or in the page of a commit. Raises NoResults."""
    if Path(place).is_file():
        text: str | None = Path(place).read_text()
    else:
        text = _git("show", f"{place}:{PAGE}")
    if text is None:
        raise NoResults(f"{place} is no file, and no commit that has {PAGE}")
    try:
        found = json.loads(text)
        _ = [*_figures(found)]
    except (ValueError, TypeError, LookupError, AttributeError):
        raise NoResults(f"{place} has no results of `python -m benchmarks`") from None
    return dict(found)


def compared(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Every figure of either result, in the order of the new one and then of the old one."""
    before, after = dict(_figures(old)), dict(_figures(new))
    return [Change(name, before.get(name), after.get(name)) for name in {**after, **before}]


def unlike(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Benchmarks that are in both but were measured with other sizes or on another machine, with the difference."""
    return [
        f"{name}: {key} was {old[name][key]!r} and is {new[name][key]!r}"
        for name in new
        if name in old
        for key in ("machine", "quick")
        if old[name][key] != new[name][key]
    ]


def figure(text: str, column: str, *, judged: bool = True) -> Figure | None:
    """The figure of a cell, or None. The head of its column may give the unit."""
    match = _CELL.fullmatch(text.strip())
    if match is None:
        return None
    number, unit, per_second, _ = match.groups()
    value = float(number.replace(",", ""))
    if unit is None and (in_head := re.search(r"^(µs|ms)\b", column)):
        unit = in_head.group(1)
    kind = "s" if unit in _SECONDS else "B" if unit in _BYTES else ""
    if per_second or (unit is None and re.search(r"/s\b|per second", column)):
        kind += "/s"
    value *= _SECONDS.get(unit, 1.0) * _BYTES.get(unit, 1.0)
    return Figure(value, kind if judged else "", text.strip())


def _figures(results: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
    names: Counter[str] = Counter()
    for benchmark, found in results.items():
        for table in found["tables"]:
            head = table["head"]
            for row in table["rows"]:
                label = _label(row)
                for place, (column, text) in enumerate(zip(head, row, strict=True)):
                    judged = not (_OF_OTHERS.search(label) or _of_others(head, place))
                    if place == 0 or (one := figure(text, column, judged=judged)) is None:
                        continue
                    name = f"{benchmark} | {table['title']} | {label} | {column}"
                    names[name] += 1
                    yield name if names[name] == 1 else f"{name} ({names[name]})", one


def _label(row: Sequence[str]) -> str:
    """The first cell, and other cells that are words."""
    return ", ".join([row[0], *(text for text in row[1:] if re.match(r"[^\W\d]", text))])


def _of_others(head: Sequence[str], place: int) -> bool:
    """Whether a column is of other software: its head, or a later column with the same head, says so."""
    if _OF_OTHERS.search(head[place]):
        return True
    first = head.index(head[place])
    return first < place and any(_OF_OTHERS.search(column) for column in head[first:place]) and head[place] != "ratio"


def _git(*arguments: str) -> str | None:
    ended = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, cwd=ROOT)
    return ended.stdout if ended.returncode == 0 else None
