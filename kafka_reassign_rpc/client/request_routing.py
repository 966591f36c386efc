"""Sends requests to the right node, in a version that it serves, since the nodes of a cluster differ.

A request that changes something is repeated only if it certainly had no effect: the node answered NOT_CONTROLLER, or
was never reached. If an answer is lost, the caller gets an error, and has to look at the cluster and decide.

A node that hangs takes requests and answers none. So one that any node can answer goes to another one as well where the
first has sent nothing for `SLOW_S`; from then on others are asked first.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from kafka_reassign_rpc.client.client_errors import Unauthenticated, Unreachable, UnsupportedHere
from kafka_reassign_rpc.client.client_settings import ClientSettings
from kafka_reassign_rpc.client.node_connections import SLOW_S, NodeConnection, NodeConnections
from kafka_reassign_rpc.client.node_questions import (
    CONTROLLERS,
    NO_CONTROLLER,
    NOT_CONTROLLER,
    SlowCalls,
    brokers_and_controller,
    controllers,
    decoded_answer,
    explained,
    is_front,
    is_kraft,
    require_controller,
    version_at,
)
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.frame_codec import encode_body
from kafka_reassign_rpc.protocol.messages import ApiMessage, RequestFor
from kafka_reassign_rpc.protocol.versions import common_version
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.transport.rpc_client import MaySend

log = logging.getLogger(__name__)

_MANY_NAMES = 500
"""A thread works on more topics or partitions, too."""

BuildRequest = Callable[[int], ApiMessage]
"""Takes the API version."""
Response = TypeVar("Response", bound="ApiMessage")
T = TypeVar("T")
FindNode = Callable[[], Awaitable[int]]
_Nodes = tuple[NodeConnection, dict[int, Address], int]
"""Who was asked, all nodes, and the controller."""


class Needs(NamedTuple):
    """Nodes that do not serve this API ignore our tagged fields. `otherwise`: the text of UnsupportedHere."""

    api: type[ApiMessage]
    otherwise: str


class UndecodedAnswer(NamedTuple):
    data: bytes
    version: int


def always(request: ApiMessage) -> BuildRequest:
    return lambda _version: request


class RequestRouter:
    """`timeout_ms`: how long a call tries to get an answer; servers get it as their own time. `may_send`: asked right
    before each request that changes something is sent.
    """

    def __init__(self, nodes: NodeConnections, settings: ClientSettings, may_send: MaySend | None = None) -> None:
        self._nodes = nodes
        self._may_send = may_send
        self.slow = SlowCalls()
        self._of_controllers = settings.controllers
        """Whether the client was given KRaft controllers. The active one then gets every request, as in Java."""
        self.timeout_ms = settings.configs.request_timeout_ms
        self._retry_s = settings.configs.retry_backoff_ms / 1000
        self._controller: int | None = None
        self._has_front = self._misses_front = False
        """A server in front of KRaft is asked for the nodes first: a broker's answer leads away from it."""
        self._refreshing = asyncio.Lock()
        self._said: set[str] = set()
        """Why no node has answered yet."""

    async def close(self) -> None:
        await self._nodes.close()

    @property
    def nodes(self) -> list[int]:
        """Those that the cluster has named last."""
        return list(self._nodes.nodes)

    @property
    def endpoint_type(self) -> int:
        """Of DescribeCluster: 1 for brokers, 2 for controllers."""
        return CONTROLLERS if self._of_controllers else 1

    async def ask_any(
        self, build: BuildRequest, cls: type[RequestFor[Response]], *, changes: bool = False, names: int = 0
    ) -> Response:
        """`changes`: the request has an effect, so it is not repeated if its answer is lost. `names`: how many topics
        or partitions it names; a thread makes one that names many.
        """
        elsewhere = None if changes or self._of_controllers else self._another_node
        answer: Response = await self._of_cluster(
            self._any_node, build, cls, changes=changes, names=names, elsewhere=elsewhere
        )
        return answer

    async def ask_given(self, build: BuildRequest, cls: type[RequestFor[Response]], otherwise: str) -> Response:
        """Asks the first node at the given addresses that serves the API, even if Metadata does not name it. Raises
        UnsupportedHere with the text `otherwise`.
        """
        for node in self._nodes.given:
            try:
                connection = await self._nodes.connection(node)
                version = version_at(cls, await connection.versions())
                data = await connection.call(cls, encode_body(build(version), version=version), version)
                answer: Response = await decoded_answer(cls, data, version)
            except (Unreachable, UnsupportedHere):
                continue
            return answer
        raise UnsupportedHere(otherwise)

    async def ask_controller_undecoded(
        self, build: BuildRequest, cls: type[ApiMessage], highest: int
    ) -> UndecodedAnswer:
        """`highest`: the last version to use. Any node serves the API."""
        answer: UndecodedAnswer = await self._of_cluster(
            self._find_controller,
            build,
            cls,
            changes=False,
            highest=highest,
            decoded=False,
            elsewhere=self._another_controller,
        )
        return answer

    async def at_once(
        self, calls: Sequence[Callable[[], Awaitable[T]]], timeout_ms: int | None = None
    ) -> list[T | KafkaError]:
        """A call's KafkaError is its result. One that has not ended after `timeout_ms` (default: the request timeout)
        gives Unreachable.
        """
        seconds = (self.timeout_ms if timeout_ms is None else timeout_ms) / 1000

        async def bounded(call: Callable[[], Awaitable[T]]) -> T | KafkaError:
            try:
                async with asyncio.timeout(seconds):
                    return await call()
            except TimeoutError:
                return Unreachable(f"It did not answer within {seconds:g} s.")
            except KafkaError as error:
                return error

        with self.slow.told(asyncio.get_running_loop().time() + seconds):
            return await asyncio.gather(*map(bounded, calls))

    async def ask_node(
        self,
        node: int,
        build: BuildRequest,
        cls: type[RequestFor[Response]],
        *,
        changes: bool = False,
        names: int = 0,
    ) -> Response:
        """Raises Unreachable if there is no such node. `names`: as in `ask_any`."""
        if self._of_controllers:
            return await self.ask_any(build, cls, changes=changes, names=names)
        await self._look_for(node)

        async def this_one() -> int:
            if self._nodes.stale:
                await self.refresh()
            return node

        answer: Response = await self._send_until_answered(this_one, build, cls, changes=changes, names=names)
        return answer

    async def ask_node_once(self, node: int, build: BuildRequest, cls: type[RequestFor[Response]]) -> Response:
        """For callers that repeat it themselves: the first failure raises Unreachable, and may have had an effect."""
        await self._look_for(node)
        connection = await self._nodes.connection(node)
        version = version_at(cls, await connection.versions())
        data = await connection.call(cls, _encoded(build, version), version)
        answer: Response = await decoded_answer(cls, data, version)
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
        """Follows the controller when it moves, until the request timeout is over. A top-level error code in the answer
        says that a node is not the controller; with `any_can` any node answers the API, so there is no such code.
        `needs`: the request goes only to nodes with that API, even if another one is the controller by then.
        """
        answer: Response = await self._of_cluster(
            self._find_controller,
            build,
            cls,
            changes=changes,
            retried=None if any_can else NOT_CONTROLLER,
            needs=needs,
            elsewhere=None if changes else self._another_controller,
        )
        return answer

    async def controller_serves(self, cls: type[ApiMessage]) -> int:
        """The highest common version; -1 for none. Follows the controller while a term begins: nodes may name the
        former one until they hear from the new one.
        """
        with self.slow.told(deadline := self._deadline()):
            return await self._controller_serves(cls, deadline)

    async def _controller_serves(self, cls: type[ApiMessage], deadline: float) -> int:
        while True:
            try:
                connection = await self._nodes.connection(await self._find_controller())
                served = await connection.versions()
                found = common_version(cls, served)
                if found < 0:
                    await require_controller(connection, served)
            except (Unreachable, Unauthenticated) as error:
                await self._wait_before_retry(error, deadline)
            else:
                return found

    async def serves(self, node: int, cls: type[ApiMessage]) -> bool:
        """Raises Unreachable."""
        await self._look_for(node)
        if self._nodes.is_silent(node):
            raise Unreachable(f"Broker {node} does not answer.")
        return common_version(cls, await (await self._nodes.connection(node)).versions()) >= 0

    async def highest(self, node: int, key: int) -> int:
        """The highest version of this API there, -1 if it has none. Raises Unreachable."""
        await self._look_for(node)
        return (await (await self._nodes.connection(node)).versions()).get(key, (0, -1))[1]

    async def controller(self) -> int:
        """Raises Unreachable if there is none."""
        return await self._find_controller()

    async def refresh(self) -> None:
        """Asks a reachable node for the nodes and the controller. Calls that come meanwhile wait
        for the same answer.
        """
        begun = asyncio.get_running_loop().time()
        async with self._refreshing:
            if self._nodes.learned_at < begun:
                first = self._nodes.least_busy(given_first=self._has_front)
                asked, nodes, controller = await self._ask_for_nodes(first)
                is_named = await is_front(asked)
                self._has_front, self._misses_front = self._has_front or is_named, self._has_front and not is_named
                self._nodes.learn(nodes)
                self._controller = controller if controller in nodes else None
                if self._of_controllers or self._controller is None or not self._nodes.is_silent(self._controller):
                    return
                other = await self._another_node()
                if other is not None and await is_kraft(asked):
                    self._controller = other  # any broker passes requests on; no other controller does

    async def _ask_for_nodes(self, node: int) -> _Nodes:
        """Goes on to the next node until all keep the answer: several may hang, and the question is cheap."""
        return await self._first_answer(node, self._nodes_by, self._another, self._ask_for_nodes)

    async def _nodes_by(self, node: int) -> _Nodes:
        connection = await self._nodes.connection(node)
        found = await (controllers(connection) if self._of_controllers else brokers_and_controller(connection))
        return connection, *found

    async def _first_answer(
        self,
        node: int,
        ask: Callable[[int], Awaitable[T]],
        elsewhere: Callable[[], Awaitable[int | None]],
        ask_other: Callable[[int], Awaitable[T]] | None = None,
    ) -> T:
        """Asks the node, and where it has sent nothing for `SLOW_S` another one too (`elsewhere` gives it, or None).
        The first answer counts; where there is none, the error of the node that was asked first.
        """
        first = asyncio.ensure_future(ask(node))
        tasks = {first}
        try:
            while True:
                since = asyncio.get_running_loop().time()
                done, _ = await asyncio.wait(tasks, timeout=SLOW_S)
                if done or not self._nodes.has_sent(node, since):
                    break
            if not done:
                self._nodes.keeps_waiting(node)
                tasks.add(asyncio.create_task(self._ask_elsewhere(node, ask_other or ask, elsewhere)))
            waiting = set(tasks)
            while True:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                answered = [one for one in done if one.exception() is None]
                if answered or not waiting:
                    return (answered or [first])[0].result()
        finally:
            for one in tasks:
                one.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask_elsewhere(
        self, node: int, ask: Callable[[int], Awaitable[T]], elsewhere: Callable[[], Awaitable[int | None]]
    ) -> T:
        other = await elsewhere()
        if other is None or other == node:
            raise Unreachable(f"Broker {node} does not answer.")
        log.debug("broker %d has not answered for %g s: its question goes to broker %d too", node, SLOW_S, other)
        return await ask(other)

    async def _another(self) -> int | None:
        other = self._nodes.least_busy()
        return None if self._nodes.is_silent(other) else other

    async def _another_node(self) -> int | None:
        """Not a given address: by another name it may be the node that keeps the answer."""
        other = await self._another()
        return other if other in self._nodes.nodes else None

    async def _another_controller(self) -> int | None:
        """The one that others name meanwhile; in KRaft mode any broker that answers without delay."""
        await self.refresh()
        found = self._controller
        return None if found is None or self._nodes.is_silent(found) else found

    async def refresh_until_known(self) -> None:
        """Raises Unauthenticated, and the error of a node that cannot say."""
        untried = len(self._nodes.given)  # no address waits for its first try because another one has failed
        while not self._nodes.nodes:
            untried -= 1
            try:
                await self.refresh()
            except Unreachable as error:
                if str(error) not in self._said:
                    self._said.add(str(error))
                    # A caller that waits for the start says so in its own words.
                    log.debug("no answer from the cluster, so it is asked again and again: %s", error)
            if not self._nodes.nodes and untried <= 0:
                await asyncio.sleep(self._retry_s)

    def why_unknown(self, silent: str) -> str:
        """Why none of the given addresses has answered, the same after any number and order of tries.
        `silent`: of those that say nothing.
        """
        reasons = list(dict.fromkeys([*self._nodes.failures, *sorted(self._said)]))
        reasons += [f"{address}: {silent}" for address in self._nodes.silent if reasons]
        return "; ".join(reasons) or silent

    async def _of_cluster(self, *arguments: Any, **options: Any) -> Any:
        """For questions that any node answers, or passes on: where none does, the one that was asked last may not be to
        blame.
        """
        try:
            return await self._send_until_answered(*arguments, **options)
        except Unreachable as error:
            if self._of_controllers:
                raise
            raise await explained(self._nodes, may_have_had_effect=error.may_have_had_effect) or error from error

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
        names: int = 0,
        elsewhere: Callable[[], Awaitable[int | None]] | None = None,
    ) -> Any:
        """`retried`: after this error code the request is sent again. `elsewhere` None: no other node is asked."""
        deadline, sent = self._deadline(), False

        def may_send() -> bool:
            nonlocal sent
            sent = not changes or self._may_send is None or self._may_send()
            return sent

        async def ask(node: int) -> UndecodedAnswer:
            connection = await self._nodes.connection(node)
            served = await connection.versions()
            version = version_at(cls, served, highest)
            if needs is not None and needs.api.API_KEY not in served:
                await require_controller(connection, served)
                raise UnsupportedHere(needs.otherwise)
            body = await in_thread_if_many(names, partial(_encoded, build, version))
            return UndecodedAnswer(await connection.call(cls, body, version, may_send), version)

        with self.slow.told(deadline):
            while True:
                sent = False
                try:
                    node = await find_node()
                    found = await (ask(node) if elsewhere is None else self._first_answer(node, ask, elsewhere))
                    # Reading a large answer may take longer than `SLOW_S`: no node is slow for that.
                    answer: Any = await decoded_answer(cls, *found) if decoded else found
                except (Unreachable, Unauthenticated) as error:
                    if sent and changes:
                        raise Unreachable(str(error), may_have_had_effect=True) from error
                    await self._wait_before_retry(error, deadline)
                    continue
                if retried is None or answer.error_code != retried:
                    return answer
                await self._wait_before_retry(Unreachable(NO_CONTROLLER), deadline)

    async def _wait_before_retry(self, error: KafkaError, deadline: float) -> None:
        """Raises the error if a retry cannot help, or if the time is over."""
        self._controller = None
        self.slow.failed(str(error))
        if isinstance(error, Unauthenticated) or asyncio.get_running_loop().time() >= deadline:
            raise error
        await asyncio.sleep(self._retry_s)

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self.timeout_ms / 1000

    async def _any_node(self) -> int:
        if self._of_controllers:
            return await self._find_controller()
        if self._nodes.stale:
            await self.refresh()
        return self._nodes.least_busy()

    async def _find_controller(self) -> int:
        if self._controller is None or self._misses_front or self._nodes.is_silent(self._controller):
            await self.refresh()
        if self._controller is None:
            raise Unreachable("The cluster has no controller at the moment.")
        return self._controller

    async def _look_for(self, node: int) -> None:
        if node not in self._nodes.nodes:
            await self.refresh()
        if node not in self._nodes.nodes:
            raise Unreachable(f"Broker {node} is not available.")


async def connect(settings: ClientSettings, may_send: MaySend | None = None) -> RequestRouter:
    """Tries the addresses until a node answers. Raises Unreachable, Unauthenticated; with addresses of controllers also
    the error of a node that is none.
    """
    router = RequestRouter(NodeConnections(settings), settings, may_send)
    seconds = settings.configs.bootstrap_timeout_ms / 1000
    try:
        async with asyncio.timeout(seconds):
            await router.refresh_until_known()
    except TimeoutError:
        await router.close()
        # A listener of another security protocol may take the connection and then say nothing.
        silent = f"no answer within {seconds:g} s, asked by {settings.configs.security_protocol}"
        raise Unreachable(f"Unable to bootstrap from {settings.named}: {router.why_unknown(silent)}") from None
    except BaseException:
        await router.close()
        raise
    return router


async def in_thread_if_many(names: int, work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work) if names > _MANY_NAMES else work()


def _encoded(build: BuildRequest, version: int) -> bytes:
    return encode_body(build(version), version=version)
