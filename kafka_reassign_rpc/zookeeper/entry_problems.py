"""The problems of a list of moves: the first ones in words, of the others the number."""

from kafka_reassign_rpc.support.bounded_text import shortened
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode

REPORTED = 100
"""How many problems of one znode are reported one by one."""
LONGEST = 400
"""Characters of one problem."""
MAX_WRONG = 10_000
"""A znode with more malformed entries is malformed as a whole: looking for good ones among them takes too long."""


class EntryProblems:
    def __init__(self, path: str) -> None:
        self._path = path
        self._texts: list[str] = []
        self._count = self._wrong = 0

    def add(self, text: str) -> None:
        self._count += 1
        if self._count <= REPORTED:
            self._texts.append(shortened(text, LONGEST))

    def add_wrong(self, text: str) -> None:
        """For a malformed entry. Raises BadZnode if there are too many."""
        self._wrong += 1
        if self._wrong > MAX_WRONG:
            raise BadZnode(self._path, f"more than {MAX_WRONG} of its entries are malformed, the last: {text}")
        self.add(text)

    def texts(self) -> list[str]:
        more = self._count - REPORTED
        return [*self._texts, f"{more} more problems of its entries"] if more > 0 else list(self._texts)
