"""What cannot be seen, and why: told once in the log, and on the page for as long as it holds."""

import logging
from collections.abc import Mapping, MutableMapping
from typing import Any

from kafka_reassign_rpc.watch.pace import Ask


class NamedLog(logging.LoggerAdapter[logging.Logger]):
    def process(self, msg: str, kwargs: MutableMapping[str, Any]) -> tuple[str, MutableMapping[str, Any]]:
        name = (self.extra or {}).get("cluster")
        return (f"cluster {name}: {msg}" if name else msg), kwargs


class Unseen:
    """`texts`: by the question that has no answer."""

    def __init__(self, log: NamedLog) -> None:
        self._log = log
        self._texts: dict[Ask, str] = {}

    @property
    def texts(self) -> Mapping[Ask, str]:
        return self._texts

    def put(self, what: Ask, text: str) -> None:
        """An empty text: it can be seen again."""
        if not text:
            if self._texts.pop(what, None) is not None:
                self._log.info("%s can be seen again: status and metrics show them", what.value)
            return
        if self._texts.get(what) != text:
            self._log.warning("%s", text)
        self._texts[what] = text
