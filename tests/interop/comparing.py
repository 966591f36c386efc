"""Finds the differences between two transcripts, and those that are not declared."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

ABSENT = "(absent)"


class Difference(NamedTuple):
    """A difference that we intend: where it is in a transcript, stock's value, ours, and the reason."""

    scenario: str
    label: str
    place: str
    stock: Any
    ours: Any
    why: str


class FoundDifference(NamedTuple):
    """A difference that was found."""

    label: str
    place: str
    stock: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.label!r} at {self.place or 'all of it'}: stock {self.stock!r}, ours {self.ours!r}"


def compare(stock: list[tuple[str, Any]], ours: list[tuple[str, Any]]) -> list[FoundDifference]:
    """The differences between two transcripts, by label and place."""
    found = []
    for (label, left), (other, right) in zip(_padded(stock, len(ours)), _padded(ours, len(stock)), strict=True):
        name = label if label == other else f"{label} / {other}"
        found += [
            FoundDifference(name, place, *values) for place, *values in _differing(_plain(left), _plain(right), "")
        ]
    return found


def unexpected(found: list[FoundDifference], expected: list[Difference]) -> list[str]:
    """Differences that are not declared, and declared differences that were not found."""
    declared = [FoundDifference(d.label, d.place, _plain(d.stock), _plain(d.ours)) for d in expected]
    return [f"not wanted: {f}" for f in found if f not in declared] + [
        f"wanted, but not there: {t}" for t in declared if t not in found
    ]


def _padded(transcript: list[tuple[str, Any]], length: int) -> list[tuple[str, Any]]:
    return transcript + [(ABSENT, None)] * (length - len(transcript))


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _differing(left: Any, right: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    if left == right:
        return
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            inner = f"{place}.{key}" if place else key
            yield from _differing(left.get(key, ABSENT), right.get(key, ABSENT), inner)
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right) and any(map(_nested, left)):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _differing(one, other, f"{place}[{index}]")
    else:
        yield place, left, right


def _nested(value: Any) -> bool:
    return isinstance(value, list | dict | str)
