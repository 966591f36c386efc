"""One test of many rows: of a corpus of recorded messages, of a table of cases."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest

_SHOWN = 20
"""The most rows whose failures are shown."""

Row = tuple[str, dict[str, Any]]
"""Its name, and its values by the names of the test's parameters."""


def for_each(
    names: str | Sequence[str], rows: Iterable[Any], ids: Iterable[str] | Callable[[Any], Any] = str
) -> Callable[[Any], Any]:
    """`pytest.mark.parametrize` where rows need no fixtures of their own: a test for each costs more than its body.

    All rows are tried; the failure names those that failed, with the trace of the first. What fixtures give is the
    same for all.
    """
    split = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    listed = list(rows)
    own: Iterable[Any] = [ids] * len(listed) if callable(ids) else ids
    named = [_row(split, row, of_row) for row, of_row in zip(listed, own, strict=True)]
    assert named, f"no rows of {names}"

    def of_all_rows(test: Any) -> Any:
        @wraps(test)
        def of_all(**fixtures: Any) -> None:
            failures = _Failures()
            for name, values in named:
                with failures.of(name):
                    test(**values, **fixtures)
            failures.show(len(named))

        @wraps(test)
        async def of_all_async(**fixtures: Any) -> None:
            failures = _Failures()
            for name, values in named:
                with failures.of(name):
                    await test(**values, **fixtures)
            failures.show(len(named))

        found: Any = of_all_async if inspect.iscoroutinefunction(test) else of_all
        taken = inspect.signature(test)
        found.__signature__ = taken.replace(
            parameters=[one for one in taken.parameters.values() if one.name not in named[0][1]]
        )
        return found

    return of_all_rows


def _row(names: Sequence[str], row: Any, name: str | Callable[[Any], Any]) -> Row:
    if is_param := isinstance(row, type(pytest.param())):
        assert not row.marks, f"a mark is of a test, not of its row {row.id}"
    values = row.values if is_param else row if len(names) > 1 else (row,)
    if is_param and row.id:
        own = str(row.id)
    else:
        own = name if isinstance(name, str) else "-".join(str(name(value)) for value in values)
    return own, dict(zip(names, values, strict=True))


class _Failures:
    def __init__(self) -> None:
        self._found: list[tuple[str, BaseException]] = []

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:
            self._found.append((name, error))

    def show(self, tried: int) -> None:
        if not self._found:
            return
        lines = [f"{name}: {type(error).__name__}: {error}" for name, error in self._found[:_SHOWN]]
        more = [f"and {len(self._found) - _SHOWN} more"] if len(self._found) > _SHOWN else []
        raise AssertionError("\n".join([f"{len(self._found)} of {tried} rows failed", *lines, *more])) from self._found[
            0
        ][1]
