"""Which process of a run (pytest-xdist) gets which tests: a file's tests are together, and so are all on Spark."""

from collections.abc import Iterable

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling


class Units(LoadFileScheduling):  # type: ignore[misc]
    """`together`: the beginnings of tests that one process gets, whatever their files."""

    def __init__(self, config: pytest.Config, log: Producer, together: Iterable[str]) -> None:
        super().__init__(config, log)
        self._together = tuple(together)

    def _split_scope(self, nodeid: str) -> str:
        return "together" if nodeid.startswith(self._together) else super()._split_scope(nodeid)
