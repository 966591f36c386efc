"""The way to the cluster: who is asked, in which version, and what becomes of errors.

Runs on the network thread of kafka-python's admin client: everything async here is for its loop, not for asyncio's.

Versions are agreed with the very node that is asked. In a cluster of several kinds of nodes (stock brokers, our
server as the controller) kafka-python's own negotiation, which goes by the first node, is not enough.
A request is repeated only where it is certain that it had no effect: the node said NOT_CONTROLLER, or was never
reached. An answer that is lost is an error, for the caller to look and decide.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import kafka.errors as kafka_errors
from kafka.admin import KafkaAdminClient

from kafka_reassign_rpc.client.admin_connection import Controllers
from kafka_reassign_rpc.client.client_errors import Unauthenticated, Unreachable, UnsupportedHere
from kafka_reassign_rpc.client.outgoing_request import Frame, Outgoing
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import ApiVersionsRequest, MetadataRequest

NOT_CONTROLLER = 41
UNSUPPORTED_VERSION = 35
_RETRY_BACKOFF_S = 0.1
_METADATA_MAX = 12

Build = Callable[[int], Any]
"""Version -> request."""
Find = Callable[[], Awaitable[int]]
"""Where to send it."""


def always(request: Any) -> Build:
    """The same request in every version."""
    return lambda _version: request


class Link:
    """Sends requests for one admin client."""

    def __init__(self, admin: KafkaAdminClient) -> None:
        self._manager: Any = admin._manager
        self._controllers = admin._client if isinstance(admin._client, Controllers) else None
        """Where only KRaft controllers are known, it is the active one that is asked for everything, as Java does."""
        self._net: Any = admin._net
        self._timeout_ms: int = admin.config["request_timeout_ms"]
        self._versions: dict[int, tuple[Any, dict[int, tuple[int, int]]]] = {}
        self._controller: int | None = None

    @property
    def endpoint_type(self) -> int:
        """What DescribeCluster is to tell of: 1 for brokers, 2 for controllers."""
        return 1 if self._controllers is None else 2

    async def ask_any(self, build: Build, cls: Any, *, changes: bool = False) -> Any:
        """Ask whichever node is least busy. `changes`: the request has an effect, so it is not repeated if lost."""
        return await self._patiently(self._any, build, cls, changes=changes)

    async def ask_any_for_frame(self, build: Build, cls: Any, highest: int) -> Frame:
        """Ask whichever node is least busy, in a version up to `highest`; the answer is left unread."""
        frame: Frame = await self._patiently(self._any, build, cls, changes=False, highest=highest, whole=False)
        return frame

    async def ask_node(self, node: int, build: Build, cls: Any, *, changes: bool = False) -> Any:
        """Ask one node. Raises Unreachable where there is no such node."""
        if self._controllers is not None:
            return await self._patiently(self._any, build, cls, changes=changes)
        if self._manager.cluster.broker_metadata(node) is None:
            await self._refresh()
        if self._manager.cluster.broker_metadata(node) is None:
            raise Unreachable(f"Broker {node} is not available.")

        async def this_one() -> int:
            return node

        return await self._patiently(this_one, build, cls, changes=changes)

    async def ask_controller(self, build: Build, cls: Any, *, changes: bool = False, any_can: bool = False) -> Any:
        """Ask the controller, wherever it goes, until the time is up. The answer has a top-level error code.

        `any_can`: any node could answer it, so nothing in the answer says that the node is not the controller.
        """
        retried = None if any_can else NOT_CONTROLLER
        return await self._patiently(self._find_controller, build, cls, changes=changes, retried=retried)

    async def controller_serves(self, cls: Any) -> int:
        """The highest version of an API that the controller serves and we know; -1 for none."""
        deadline = self._deadline()
        while True:
            try:
                node = await self._find_controller()
                low, high = (await self._versions_of(node)).get(cls.API_KEY, (0, -1))
            except (kafka_errors.KafkaError, Unreachable) as error:
                await self._again(error, deadline)
            else:
                best = min(high, int(cls.max_version))
                return best if best >= low else -1

    async def _patiently(
        self,
        find: Find,
        build: Build,
        cls: Any,
        *,
        changes: bool,
        retried: int | None = None,
        highest: int | None = None,
        whole: bool = True,
    ) -> Any:
        deadline = self._deadline()
        while True:
            sent = False
            try:
                node = await find()
                version = _choose(cls, await self._versions_of(node), highest)
                sent = True
                answer = await self._send(node, Outgoing(build(version), version, whole=whole))
            except (kafka_errors.KafkaError, Unreachable) as error:
                if sent and changes:
                    raise Unreachable(f"{error} It is not known whether the request had its effect.") from error
                await self._again(error, deadline)
                continue
            if retried is None or answer.error_code != retried:
                return answer
            await self._again(Unreachable("No node says that it is the controller."), deadline)

    async def _again(self, error: Exception, deadline: float) -> None:
        """Wait a little before the next try; raise where there is no use or no time."""
        self._controller = None
        hopeless = (kafka_errors.SaslAuthenticationFailedError, kafka_errors.AuthorizationError)
        if isinstance(error, hopeless) or time.monotonic() >= deadline:
            raise _translated(error) from error
        await self._net.sleep(_RETRY_BACKOFF_S)

    def _deadline(self) -> float:
        return time.monotonic() + self._timeout_ms / 1000

    async def _any(self) -> int:
        if self._controllers is not None:
            return await self._find_controller()
        return await self._least_busy()

    async def _least_busy(self) -> int:
        node: int | None = self._manager.least_loaded_node()
        if node is None:
            raise kafka_errors.NodeNotReadyError("no node can be reached")
        return node

    async def _find_controller(self) -> int:
        if self._controller is None:
            await self._refresh()
            controller = self._manager.cluster.controller
            if controller is None:
                raise Unreachable("The cluster has no controller at the moment.")
            self._controller = int(controller.node_id)
        return self._controller

    async def _refresh(self) -> None:
        """Learn the nodes and the controller anew, from one that can be reached."""
        node = await self._least_busy()
        if self._controllers is not None:
            await self._controllers.learn(node)
            return
        versions = await self._versions_of(node)
        version = _choose(MetadataRequest, versions, _METADATA_MAX)
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        self._manager.cluster.update_metadata(await self._send(node, Outgoing(request, version)))

    async def _versions_of(self, node: int) -> dict[int, tuple[int, int]]:
        """What a node serves; asked once for each connection, for the node may come back as another version."""
        connection = await self._manager.get_connection(node)
        known = self._versions.get(node)
        if known is None or known[0] is not connection:
            answer = await self._send(node, Outgoing(ApiVersionsRequest(), 0))
            if answer.error_code:
                raise UnsupportedHere(f"Node {node} does not say what it serves (error {answer.error_code}).")
            found = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
            self._versions[node] = known = (connection, found)
        return known[1]

    async def _send(self, node: int, request: Outgoing) -> Any:
        try:
            return await self._manager.send(request, node_id=node)
        except kafka_errors.KafkaError as error:
            raise _translated(error) from error


def _choose(cls: Any, versions: dict[int, tuple[int, int]], highest: int | None = None) -> int:
    low, high = versions.get(cls.API_KEY, (0, -1))
    best = min(high, int(cls.max_version) if highest is None else highest)
    if best < low or best < 0:
        raise UnsupportedHere(f"The node does not support {cls.name.removesuffix('Request')}.")
    return best


def _translated(error: Exception) -> Exception:
    if isinstance(error, KafkaError):
        return error
    if isinstance(error, kafka_errors.SaslAuthenticationFailedError | kafka_errors.UnsupportedSaslMechanismError):
        return Unauthenticated(_text(error))
    return Unreachable(_text(error))


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error.args[0]}" if error.args else type(error).__name__
