"""What librdkafka says of itself: a log for each producer, and what a producer knows where a record is not taken."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STATISTICS_EVERY_MS = 5_000


DEBUG = "msg"
"""librdkafka's contexts that producers log. Only there it tells which errors brokers answered before a timeout."""
_REFUSAL = "encountered error"


def client_log(path: Path) -> logging.Logger:
    """A logger that writes to this file alone: of DEBUG only the refusals of brokers, since each batch is in it."""
    log = logging.Logger(path.stem, logging.DEBUG)
    log.addFilter(lambda record: record.levelno > logging.DEBUG or _REFUSAL in record.getMessage())
    to_file = logging.FileHandler(path, delay=True)
    to_file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(to_file)
    return log


def close(log: logging.Logger) -> None:
    """The file is whole after this."""
    for handler in log.handlers:
        handler.close()


class ClientView:
    """What librdkafka's statistics show: each partition's leader, and how the connection to each broker stands."""

    def __init__(self) -> None:
        self._last: Mapping[str, Any] = {}

    def heard(self, statistics: str) -> None:
        """librdkafka's `stats_cb`."""
        self._last = json.loads(statistics)

    def of(self, topic: str) -> str:
        """One line."""
        partitions: Mapping[str, Any] = self._last.get("topics", {}).get(topic, {}).get("partitions", {})
        leaders = ", ".join(f"{index} led by {one['leader']}" for index, one in partitions.items() if index != "-1")
        brokers: Mapping[str, Any] = self._last.get("brokers", {})
        states = ", ".join(f"{one['nodeid']} {one['state']}" for one in brokers.values() if one["nodeid"] >= 0)
        return f"its client saw partitions {leaders or 'none'}; brokers {states or 'none'}"
