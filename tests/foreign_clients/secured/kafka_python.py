"""kafka-python as a program: it reads ways as JSON, and prints what kafka-python said on each.

Most of the time it waits until its client gives up: it tries several ways at a time.
"""

import json
import logging
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError
from kafka.net.sasl.oauth import AbstractTokenProvider

from .ways import RIGHT, Way


class _Token(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, text: str) -> None:
        self._text = text

    def token(self) -> str:
        return self._text


class _Lines(logging.Handler):
    """What kafka-python logs: its errors say no more than that it came in nowhere."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def said_on(way: Way) -> str:
    """The words of a refusal, "" where the client came in."""
    lines = _Lines()
    logger = logging.getLogger("kafka")
    logger.addHandler(lines)
    try:
        refused = _refused(way)
    finally:
        logger.removeHandler(lines)
    return refused and "; ".join([refused, *lines.lines])


def _refused(way: Way) -> str:
    """It tries again and again for its whole time where it is refused."""
    options: dict[str, Any] = {}
    if way.protocol.endswith("SSL"):
        options |= {"ssl_cafile": way.trusted, "ssl_certfile": way.own or None, "ssl_keyfile": way.own or None}
    if way.user:
        options |= {"sasl_plain_username": way.user, "sasl_plain_password": way.password}
    if way.token:
        options |= {"sasl_oauth_token_provider": _Token(way.token)}
    if way.mechanism:
        options["sasl_mechanism"] = way.mechanism
    patience = 30_000 if way.state == RIGHT else 2_000
    try:
        client = KafkaAdminClient(
            bootstrap_servers=way.bootstrap, security_protocol=way.protocol, bootstrap_timeout_ms=patience, **options
        )
    except KafkaError as error:
        return repr(error)
    try:
        client.list_partition_reassignments()
    except KafkaError as error:
        return repr(error)
    finally:
        client.close()
    return ""


if __name__ == "__main__":
    asked = [Way(**way) for way in json.load(sys.stdin)]
    with ProcessPoolExecutor(8, get_context("fork")) as pool:  # each with a log of its own
        print(json.dumps(list(pool.map(said_on, asked))))
