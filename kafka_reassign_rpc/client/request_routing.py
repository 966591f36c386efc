"""Sends requests to the right node: any node, one broker, or the controller wherever it moves to.

Everything here runs on the event loop of kafka-python's network thread, not on asyncio's.

The version of a request is chosen from what the very node serves that gets the request. kafka-python's own choice goes
by the first node of the cluster; that is wrong in a cluster of stock brokers with this server as the controller.

A request that changes something is repeated only if it certainly had no effect: the node answered NOT_CONTROLLER, or
was never reached. If an answer is lost, the caller gets an error, and has to look at the cluster and decide.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import kafka.errors as kafka_errors
from kafka.admin import KafkaAdminClient
from kafka.future import Future

from kafka_reassign_rpc.client.admin_connection import KRaftControllers
from kafka_reassign_rpc.client.client_errors import Unauthenticated, Unreachable, UnsupportedHere
from kafka_reassign_rpc.client.kafka_python_request import KafkaPythonRequest, UndecodedAnswer
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import ApiMessage, ApiVersionsRequest, MetadataRequest, RequestFor

NOT_CONTROLLER = 41
_RETRY_BACKOFF_S = 0.1
_METADATA_MAX = 12

BuildRequest = Callable[[int], ApiMessage]
"""Makes the request for an API version."""
Response = TypeVar("Response", bound="ApiMessage")
T = TypeVar("T")
FindNode = Callable[[], Awaitable[int]]
"""Finds the node that gets the request."""


class Needs(NamedTuple):
    """An API that a node has to serve, else UnsupportedHere with this text: it would ignore our tagged fields."""

    api: type[ApiMessage]
    otherwise: str


def always(request: ApiMessage) -> BuildRequest:
    """The same request in every version."""
    return lambda _version: request


class RequestRouter:
    """Sends the requests of one admin client."""

    def __init__(self, admin: KafkaAdminClient) -> None:
        self._manager: Any = admin._manager
        self._controllers = admin._client if isinstance(admin._client, KRaftControllers) else None
        """Set if the client was given KRaft controllers. The active one then gets every request, as in Java."""
        self._net: Any = admin._net
        self._timeout_ms: int = admin.config["request_timeout_ms"]
        self._versions: dict[int, tuple[Any, dict[int, tuple[int, int]]]] = {}
        self._controller: int | None = None

    @property
    def endpoint_type(self) -> int:
        """The endpoint type of DescribeCluster: 1 for brokers, 2 for controllers."""
        return 1 if self._controllers is None else 2

    async def ask_any(self, build: BuildRequest, cls: type[RequestFor[Response]], *, changes: bool = False) -> Response:
        """Ask the least busy node. `changes`: the request has an effect; it is not repeated if its answer is lost."""
        answer: Response = await self._send_until_answered(self._any_node, build, cls, changes=changes)
        return answer

    async def ask_controller_undecoded(
        self, build: BuildRequest, cls: type[ApiMessage], highest: int
    ) -> UndecodedAnswer:
        """Ask the controller in a version up to `highest`, and leave the answer undecoded. Any node serves the API."""
        answer: UndecodedAnswer = await self._send_until_answered(
            self._find_controller, build, cls, changes=False, highest=highest, decoded=False
        )
        return answer

    async def at_once(
        self, calls: Sequence[Callable[[], Awaitable[T]]], timeout_ms: int | None = None
    ) -> list[T | KafkaError]:
        """The results of calls that run at the same time; the KafkaError of a call takes the place of its result.

        A call that has not ended after `timeout_ms` (default: the request timeout) has the result Unreachable. It goes
        on until its own time is over, and what it finds is dropped.
        """
        seconds = (self._timeout_ms if timeout_ms is None else timeout_ms) / 1000
        results: list[T | KafkaError] = []
        for waiting in [self._bounded(call, seconds) for call in calls]:
            try:
                results.append(await waiting)
            except KafkaError as error:
                results.append(error)
        return results

    def _bounded(self, call: Callable[[], Awaitable[T]], seconds: float) -> Any:
        """A future with the result of a call, or with Unreachable after so many seconds."""
        result = Future()

        def give_up() -> None:
            if not result.is_done:
                result.failure(Unreachable(f"It did not answer within {seconds:g} s."))

        def end(finish: Callable[[Any], Any], value: Any) -> None:
            if not result.is_done:
                self._net.cancel(timer)
                finish(value)

        timer = self._net.call_at(time.monotonic() + seconds, give_up)
        ended = self._net.call_soon_with_future(call)
        ended.add_callback(lambda found: end(result.success, found))
        ended.add_errback(lambda error: end(result.failure, error))
        return result

    async def ask_node(
        self, node: int, build: BuildRequest, cls: type[RequestFor[Response]], *, changes: bool = False
    ) -> Response:
        """Ask one node. Raises Unreachable if there is no such node."""
        if self._controllers is not None:
            return await self.ask_any(build, cls, changes=changes)
        if self._manager.cluster.broker_metadata(node) is None:
            await self._refresh_metadata()
        if self._manager.cluster.broker_metadata(node) is None:
            raise Unreachable(f"Broker {node} is not available.")

        async def this_one() -> int:
            return node

        answer: Response = await self._send_until_answered(this_one, build, cls, changes=changes)
        return answer

    async def ask_controller(
        self,
        build: BuildRequest,
        cls: type[RequestFor[Response]],
        *,
        changes: bool = False,
        any_can: bool = False,
        needs: Needs | None = None,
    ) -> Response:
        """Ask the controller, and follow it when it moves, until the request timeout is over.

        The answer has a top-level error code, by which a node says that it is not the controller.

        any_can    any node answers this API, so the answer has no such code
        needs      no node gets the request that does not have it, whichever is the controller by then
        """
        retried = None if any_can else NOT_CONTROLLER
        answer: Response = await self._send_until_answered(
            self._find_controller, build, cls, changes=changes, retried=retried, needs=needs
        )
        return answer

    async def controller_serves(self, cls: type[ApiMessage]) -> int:
        """The highest version of an API that both the controller and this client know; -1 for none."""
        deadline = self._deadline()
        while True:
            try:
                node = await self._find_controller()
                low, high = (await self._versions_of(node)).get(cls.API_KEY, (0, -1))
            except (kafka_errors.KafkaError, Unreachable) as error:
                await self._wait_before_retry(error, deadline)
            else:
                best = min(high, cls.max_version)
                return best if best >= low else -1

    async def serves(self, node: int, cls: type[ApiMessage]) -> bool:
        """Whether a node serves an API in a version that this client knows. Raises Unreachable."""
        if self._manager.cluster.broker_metadata(node) is None:
            await self._refresh_metadata()
        try:
            low, high = (await self._versions_of(node)).get(cls.API_KEY, (0, -1))
        except kafka_errors.KafkaError as error:
            raise _translated(error) from error
        return low <= min(high, cls.max_version)

    async def _send_until_answered(
        self,
        find_node: FindNode,
        build: BuildRequest,
        cls: type[ApiMessage],
        *,
        changes: bool,
        retried: int | None = None,
        highest: int | None = None,
        decoded: bool = True,
        needs: Needs | None = None,
    ) -> Any:
        """`retried`: the error code of an answer after which the request is sent again."""
        deadline = self._deadline()
        while True:
            sent = False
            try:
                node = await find_node()
                served = await self._versions_of(node)
                version = _choose_version(cls, served, highest)
                if needs is not None and needs.api.API_KEY not in served:
                    raise UnsupportedHere(needs.otherwise)
                sent = True
                answer = await self._send(node, KafkaPythonRequest(build(version), version, decoded=decoded))
            except (kafka_errors.KafkaError, Unreachable) as error:
                if sent and changes:
                    raise Unreachable(f"{error} It is not known whether the request had its effect.") from error
                await self._wait_before_retry(error, deadline)
                continue
            if retried is None or answer.error_code != retried:
                return answer
            await self._wait_before_retry(Unreachable("No node says that it is the controller."), deadline)

    async def _wait_before_retry(self, error: Exception, deadline: float) -> None:
        """Wait a little. Raises the error if a retry cannot help, or if the time is over."""
        self._controller = None
        hopeless = (kafka_errors.SaslAuthenticationFailedError, kafka_errors.AuthorizationError)
        if isinstance(error, hopeless) or time.monotonic() >= deadline:
            raise _translated(error) from error
        await self._net.sleep(_RETRY_BACKOFF_S)

    def _deadline(self) -> float:
        return time.monotonic() + self._timeout_ms / 1000

    async def _any_node(self) -> int:
        if self._controllers is not None:
            return await self._find_controller()
        return await self._least_busy_node()

    async def _least_busy_node(self) -> int:
        node: int | None = self._manager.least_loaded_node()
        if node is None:
            raise kafka_errors.NodeNotReadyError("no node can be reached")
        return node

    async def controller(self) -> int:
        """The id of the controller. Raises Unreachable where the cluster has none."""
        return await self._find_controller()

    async def _find_controller(self) -> int:
        if self._controller is None:
            await self._refresh_metadata()
            controller = self._manager.cluster.controller
            if controller is None:
                raise Unreachable("The cluster has no controller at the moment.")
            self._controller = int(controller.node_id)
        return self._controller

    async def _refresh_metadata(self) -> None:
        """Ask a reachable node for the nodes and the controller."""
        node = await self._least_busy_node()
        if self._controllers is not None:
            await self._controllers.learn(node)
            return
        versions = await self._versions_of(node)
        version = _choose_version(MetadataRequest, versions, _METADATA_MAX)
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        self._manager.cluster.update_metadata(await self._send(node, KafkaPythonRequest(request, version)))

    async def _versions_of(self, node: int) -> dict[int, tuple[int, int]]:
        """The APIs of a node. Each new connection asks again: the node may have restarted as another version."""
        connection = await self._manager.get_connection(node)
        known = self._versions.get(node)
        if known is None or known[0] is not connection:
            answer = await self._send(node, KafkaPythonRequest(ApiVersionsRequest(), 0))
            if answer.error_code:
                raise UnsupportedHere(f"Node {node} does not say what it serves (error {answer.error_code}).")
            found = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
            self._versions[node] = known = (connection, found)
        return known[1]

    async def _send(self, node: int, request: KafkaPythonRequest) -> Any:
        try:
            return await self._manager.send(request, node_id=node)
        except kafka_errors.KafkaError as error:
            raise _translated(error) from error


def _choose_version(cls: type[ApiMessage], versions: dict[int, tuple[int, int]], highest: int | None = None) -> int:
    low, high = versions.get(cls.API_KEY, (0, -1))
    best = min(high, cls.max_version if highest is None else highest)
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
