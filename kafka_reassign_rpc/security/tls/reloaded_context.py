"""A TLS context that follows its files. Existing connections keep theirs. If a new file cannot be used, the old
context stays, and the log says why, once for each state of the files.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable
from pathlib import Path

from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.security.tls.own_handshake import Loaded
from kafka_reassign_rpc.support.files import Stamp, stamp

log = logging.getLogger(__name__)

CHECK_S = 10.0
"""Seconds between two checks of the files."""


class ReloadedContext:
    """The first context is made at once: raises BadSetting. `what` names it in the log."""

    def __init__(self, what: str, load: Callable[[], Loaded], files: tuple[Path, ...]) -> None:
        self._what = what
        self._load = load
        self._files = files
        self._seen = self._state()
        self.loaded = load()

    @property
    def context(self) -> ssl.SSLContext:
        return self.loaded.context

    async def keep(self, every: float = CHECK_S) -> None:
        """Checks until cancelled."""
        while self._files:
            await asyncio.sleep(every)
            await self.check()

    async def check(self) -> bool:
        """Off the event loop. Returns whether there is a new context."""
        return await asyncio.to_thread(self._check)

    def _check(self) -> bool:
        state = self._state()
        if state == self._seen:
            return False
        self._seen = state
        try:
            self.loaded = self._load()
        except BadSetting as error:
            log.error("%s keeps its certificates, since the new files cannot be used: %s", self._what, error)
            return False
        except Exception:
            log.exception("a defect: %s keeps its certificates until the files change again", self._what)
            return False
        log.info("%s has new certificates for new connections", self._what)
        return True

    def _state(self) -> tuple[Stamp | None, ...]:
        return tuple(map(stamp, self._files))
