"""What cannot be seen, and why: once in the log, and on the page for as long as it holds."""

import logging
from collections.abc import Mapping

from kafka_reassign_rpc.client.polling_pace import Ask

log = logging.getLogger(__name__)


class Unseen:
    """`texts`: by the question that has no answer."""

    def __init__(self) -> None:
        self._texts: dict[Ask, str] = {}

    @property
    def texts(self) -> Mapping[Ask, str]:
        return self._texts

    def put(self, what: Ask, text: str) -> None:
        """An empty text: it can be seen again."""
        if not text:
            if self._texts.pop(what, None) is not None:
                log.info("%s can be seen again: status and metrics show them", what.value)
            return
        if self._texts.get(what) != text:
            log.warning("%s", text)
        self._texts[what] = text
