"""Which process of a run (pytest-xdist) gets which tests: a file's tests are together, and so are those of several
files that share what is dear to start.
"""

from collections.abc import Iterable

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling


def unit(nodeid: str, together: Iterable[tuple[str, ...]]) -> str:
    """The name of what goes to one process: a group of `together`, each of beginnings of tests, or a file."""
    return next((group[0] for group in together if nodeid.startswith(group)), nodeid.partition("::")[0])


class Units(LoadFileScheduling):  # type: ignore[misc]
    def __init__(self, config: pytest.Config, log: Producer, together: Iterable[tuple[str, ...]]) -> None:
        super().__init__(config, log)
        self._together = tuple(together)

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid, self._together)
