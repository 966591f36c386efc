import numpy as np

from kafka_reassign_rpc.planner.columns.exact_sums import Numbers


class TopicCounts:
    """Kept up to date from round to round. `topics`, `places`: for each replica the number of its topic and the place
    of its broker, below `brokers`.
    """

    def __init__(self, topics: Numbers, places: Numbers, brokers: int) -> None:
        self._brokers = brokers
        self._keys, self._counts = np.unique(self._key(topics, places), return_counts=True)

    def of(self, topics: Numbers, places: Numbers) -> Numbers:
        keys = self._key(topics, places)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        counts: Numbers = np.where(self._keys[at] == keys, self._counts[at], 0)
        return counts

    def carry(self, topics: Numbers, sources: Numbers, destinations: Numbers) -> None:
        """A replica of each topic goes from one broker to another."""
        for places, sign in ((sources, -1), (destinations, 1)):
            keys, counts = np.unique(self._key(topics, places), return_counts=True)
            at = np.searchsorted(self._keys, keys)
            known = self._keys[np.minimum(at, len(self._keys) - 1)] == keys
            self._counts[at[known]] += sign * counts[known]
            self._keys = np.insert(self._keys, at[~known], keys[~known])
            self._counts = np.insert(self._counts, at[~known], counts[~known])

    def _key(self, topics: Numbers, places: Numbers) -> Numbers:
        keys: Numbers = topics.astype(np.int64) * self._brokers + places
        return keys
