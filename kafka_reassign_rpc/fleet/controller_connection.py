"""A broker's connection to the controller (NodeToControllerChannelManager): the node that the metadata cache names, at
its endpoint for the inter-broker listener. After NOT_CONTROLLER or a lost connection the broker looks for it again."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import ApiMessage, ControlledShutdownRequest, RequestFor
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.transport.rpc_client import RpcClient

log = logging.getLogger(__name__)

ANSWER_TIMEOUT_S = 30.0
FIRST_BACKOFF_S, LAST_BACKOFF_S = 0.05, 0.5

Response = TypeVar("Response", bound="ApiMessage")


def _top_level(answer: Any) -> tuple[int]:
    return (answer.error_code,)


class ControllerConnection:
    """One request at a time. `find` gives the controller's id and endpoint, or None while it is unknown."""

    def __init__(self, client_id: str, find: Callable[[], tuple[int, Endpoint] | None]) -> None:
        self._client_id = client_id
        self._find = find
        self._connection: RpcClient | None = None
        self._to: tuple[int, Endpoint] | None = None
        self._lock = asyncio.Lock()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def leave_former(self) -> None:
        """On the connection to a former controller a request may wait endlessly."""
        if self._connection is not None and self._find() != self._to:
            self.close()

    async def call(
        self,
        request_class: type[RequestFor[Response]],
        build: Callable[[int], ApiMessage],
        errors: Callable[[Response], Iterable[int]] = _top_level,
        tries: int | None = None,
    ) -> Response:
        """Repeats a request until a controller answers with no NOT_CONTROLLER among its `errors`.

        `build` makes it in the common version. Without `tries` the call goes on while there is no controller; with
        `tries` it raises TimeoutError after that many failed attempts.
        """
        backoff = Backoff(FIRST_BACKOFF_S, LAST_BACKOFF_S)
        tried = 0
        async with self._lock:
            while True:
                answered = False
                try:
                    connection = await self._connected()
                    if connection is not None:
                        version = await connection.version(request_class)
                        answer = await connection.call(request_class, build(version), version)
                        answered = True
                        if NotController.code not in errors(answer):
                            return answer
                        log.debug("broker %s: node %s is not the controller", self._client_id, self._to)
                except (OSError, TimeoutError, EOFError, ProtocolError) as error:
                    log.debug(
                        "broker %s: the request to the controller failed: %s",
                        self._client_id,
                        error or type(error).__name__,
                    )
                finally:
                    if not answered:
                        self.close()
                self.close()
                tried += 1
                if tried == tries:
                    raise TimeoutError(f"no controller answered {tried} attempts")
                await backoff.sleep()

    async def _connected(self) -> RpcClient | None:
        found = self._find()
        if found is None:
            return None
        if self._connection is not None and found == self._to:
            return self._connection
        self.close()
        self._to = found
        self._connection = await RpcClient.open(found[1].host, found[1].port, self._client_id, ANSWER_TIMEOUT_S)
        return self._connection


TRIES = 3
"""controlled.shutdown.max.retries"""
BETWEEN_S = 0.5
"""Shorter than controlled.shutdown.retry.backoff.ms (5 s): an election on simulated brokers takes no time."""
TIMEOUT_S = 5.0
"""For the whole shutdown: without a controller a broker must still stop."""


async def controlled_shutdown(link: ControllerConnection, epochs: Callable[[], tuple[int, int]]) -> bool:
    """False: leadership is not all moved away, and the broker stops all the same."""

    def build(version: int) -> ControlledShutdownRequest:
        broker_id, broker_epoch = epochs()
        return ControlledShutdownRequest(version=version, broker_id=broker_id, broker_epoch=broker_epoch)

    try:
        async with asyncio.timeout(TIMEOUT_S):
            for _ in range(TRIES):
                answer = await link.call(ControlledShutdownRequest, build, tries=TRIES)
                if answer.error_code == 0 and not answer.remaining_partitions:
                    return True
                log.info(
                    "broker %d goes on until others lead its %s: error %d, the controller is asked again",
                    epochs()[0],
                    counted(len(answer.remaining_partitions), "partition"),
                    answer.error_code,
                )
                await asyncio.sleep(BETWEEN_S)
    except TimeoutError:
        log.warning(
            "broker %d: no controller answered its controlled shutdown, so it stops while it may still lead partitions",
            epochs()[0],
        )
    return False
