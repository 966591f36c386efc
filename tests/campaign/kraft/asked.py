"""What clients have asked for, and what they were told."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from kafka_reassign_rpc.client import KafkaError
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


class Asked(NamedTuple):
    """One partition of a request. `target`: None is a cancel. `begin`, `end`: seconds of the epoch.

    is_taken  whether the answer said so; None: nobody knows
    is_there  whether the partition had the target already, or may have had it: then there is nothing to do
    """

    name: TopicPartition
    target: tuple[int, ...] | None
    begin: float
    end: float
    is_taken: bool | None
    is_there: bool = False


@dataclass
class Requests:
    """of_ours: to our servers. behind: to the cluster itself, by others."""

    of_ours: list[Asked] = field(default_factory=list)
    behind: list[Asked] = field(default_factory=list)


OPEN = ("REQUEST_TIMED_OUT", "UNKNOWN_SERVER_ERROR", "NOT_CONTROLLER", "NETWORK_EXCEPTION")
"""Errors after which it may have been taken all the same."""


class Asking:
    """A request that is under way: what it asks for counts from its begin on, as open. `present`: replicas just before,
    as far as they were shown."""

    def __init__(
        self,
        kept: list[Asked],
        targets: Mapping[TopicPartition, Sequence[int] | None],
        present: Mapping[TopicPartition, Sequence[int]] = MappingProxyType({}),
    ) -> None:
        self._kept = kept
        self._present = present
        self._begin = time.time()
        self._targets = {name: None if target is None else tuple(target) for name, target in targets.items()}

    def answered(self, answers: Mapping[TopicPartition, KafkaError | None]) -> str:
        for name in self._targets:
            error = answers.get(name, KafkaError("not named"))
            self._keep(name, None if error is not None and error.name in OPEN else error is None)
        return ",".join("ok" if error is None else error.name for error in answers.values())

    def lost(self) -> None:
        for name in self._targets:
            self._keep(name, None)

    def _keep(self, name: TopicPartition, is_taken: bool | None) -> None:
        target, present = self._targets[name], self._present.get(name)
        is_there = present is None or tuple(present) == target
        self._kept.append(Asked(name, target, self._begin, time.time(), is_taken, is_there))


def touching(asked: Iterable[Asked], name: TopicPartition, since: float) -> list[Asked]:
    """Requests for this partition that may have had an effect after this moment."""
    return [one for one in asked if one.name == name and one.end >= since and one.is_taken is not False]
