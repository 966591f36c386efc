"""Whether brokers obey this term. Until one does, nothing that they carry out is answered as done (`by_brokers` in
`api.api_definition` says which APIs these are): what is decided would be in ZooKeeper only. A broker that answers
nothing proves nothing, so a cluster whose brokers are all away is served as well.
"""

import asyncio
from contextlib import suppress

from kafka_reassign_rpc.core.kafka_errors import NotController

FIRST_ANSWER_S = 1.0
"""How long a request waits for the first answer of any broker."""


class Obedience:
    def __init__(self) -> None:
        self._is_known = asyncio.Event()
        self._obeys = False
        self._refuses = False

    def obeyed(self) -> None:
        self._obeys = True
        self._is_known.set()

    def refused(self) -> None:
        self._refuses = True
        self._is_known.set()

    def nobody_is_asked(self) -> None:
        """There is no broker, or the term is over."""
        self._is_known.set()

    async def wait(self) -> None:
        """Raises NotController."""
        if not self._is_known.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_known.wait(), FIRST_ANSWER_S)
            self._is_known.set()
        if self._refuses and not self._obeys:
            raise NotController("The brokers know a higher controller epoch than this server has, and do not obey it.")
