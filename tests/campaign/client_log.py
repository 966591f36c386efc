"""What librdkafka says of itself: a log for each producer, and what a producer knows where a record is not taken."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STATISTICS_EVERY_MS = 5_000


DEBUG = "msg,metadata"
"""librdkafka's contexts that producers log. Only there it tells which errors brokers answered before a timeout, and
which broker knew no brokers.
"""
_KEPT = ("encountered error", ": 0 brokers, ")
LOST_AFTER = 2
"""Reports of librdkafka's statistics."""


def client_log(path: Path) -> logging.Logger:
    """A logger that writes to this file alone: of DEBUG only the lines above, since each batch is in it."""
    log = logging.Logger(path.stem, logging.DEBUG)
    log.addFilter(lambda record: record.levelno > logging.DEBUG or any(map(record.getMessage().__contains__, _KEPT)))
    to_file = logging.FileHandler(path, delay=True)
    to_file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(to_file)
    return log


def close(log: logging.Logger) -> None:
    """The file is whole after this."""
    for handler in log.handlers:
        handler.close()


class ClientView:
    """What librdkafka's statistics show: each partition's leader, and the state of the connection to each broker."""

    def __init__(self) -> None:
        self._last: Mapping[str, Any] = {}
        self._without_broker = 0

    def heard(self, statistics: str) -> None:
        """librdkafka's `stats_cb`."""
        self._last = json.loads(statistics)
        self._without_broker = 0 if self._brokers else self._without_broker + 1

    @property
    def lost(self) -> bool:
        """Whether the client knows no broker any more, for LOST_AFTER reports in a row.

        librdkafka 2.12 to 2.16 may never find one again (issue #5301): a broker without its first UpdateMetadata has
        told it that there is none. A broker that is down stays known.
        """
        return self._without_broker >= LOST_AFTER

    @property
    def _brokers(self) -> list[Mapping[str, Any]]:
        """Neither those of `bootstrap.servers` nor librdkafka's own for a coordinator."""
        return [one for one in self._last.get("brokers", {}).values() if one["nodeid"] >= 0]

    def of(self, topic: str) -> str:
        """One line."""
        partitions: Mapping[str, Any] = self._last.get("topics", {}).get(topic, {}).get("partitions", {})
        leaders = ", ".join(f"{index} led by {one['leader']}" for index, one in partitions.items() if index != "-1")
        states = ", ".join(f"{one['nodeid']} {one['state']}" for one in self._brokers)
        return f"its client saw partitions {leaders or 'none'}; brokers {states or 'none'}"
