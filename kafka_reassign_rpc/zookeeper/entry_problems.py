"""The problems of a znode with a list of moves: the first ones in words, of the others the number."""

from kafka_reassign_rpc.support.bounded_text import shortened
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode

REPORTED = 100
"""Problems of one znode that are reported one by one."""
LONGEST = 400
"""Characters of one."""
MAX_WRONG = 10_000
"""A znode with more malformed entries is malformed as a whole: looking for good ones among them takes too long."""


class EntryProblems:
    """Collects the problems of the znode at `path`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._texts: list[str] = []
        self._count = self._wrong = 0

    def add(self, text: str) -> None:
        """A problem of an entry."""
        self._count += 1
        if self._count <= REPORTED:
            self._texts.append(shortened(text, LONGEST))

    def add_wrong(self, text: str) -> None:
        """A problem of an entry that is malformed. Raises BadZnode where too many are."""
        self._wrong += 1
        if self._wrong > MAX_WRONG:
            raise BadZnode(self._path, f"more than {MAX_WRONG} of its entries are malformed, the last: {text}")
        self.add(text)

    def texts(self) -> list[str]:
        """At most `REPORTED` problems, and a line about the others."""
        more = self._count - REPORTED
        return [*self._texts, f"{more} more problems of its entries"] if more > 0 else list(self._texts)
