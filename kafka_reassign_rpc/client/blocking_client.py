"""The blocking client: each call is that of the asyncio client, which runs in a thread of its own. A client
of each running kafka-reassign-rpc server: only it has the events that it has recorded. The controller names the
servers; Metadata shows only the controller.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from kafka_reassign_rpc.client.async_client import AsyncReassignmentClient
from kafka_reassign_rpc.client.result_values import ClusterNode
from kafka_reassign_rpc.client.server_calls import FROM_NOW_ON
from kafka_reassign_rpc.support.host_port import Address

OTHER_SERVER_MS = 5_000
"""Milliseconds that a server that is not the controller may take to answer."""

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    call: Callable[Concatenate[AsyncReassignmentClient, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["ReassignmentClient", P], T]:
    """The same call with the same arguments and the same documentation, which returns its result."""

    @wraps(call)
    def blocking(self: "ReassignmentClient", /, *args: P.args, **options: P.kwargs) -> T:
        return self._loop.run(call, self._client, *args, **options)

    return blocking


def _blocking_iterator(
    call: Callable[Concatenate[AsyncReassignmentClient, P], AsyncIterator[T]],
) -> Callable[Concatenate["ReassignmentClient", P], Iterator[T]]:
    """The values must not be None."""

    @wraps(call)
    def iterate(self: "ReassignmentClient", /, *args: P.args, **options: P.kwargs) -> Iterator[T]:
        values = call(self._client, *args, **options)

        async def following() -> T | None:
            return await anext(values, None)

        while (value := self._loop.run(following)) is not None:
            yield value

    return iterate


class ReassignmentClient:
    """AsyncReassignmentClient for code without an event loop: it has the same configs, and its calls block until their
    answer arrives. Where the other has an asynchronous iterator, it has an ordinary one.

    It is connected once it is made: the constructor raises what `AsyncReassignmentClient.start` raises. Use it as a
    context manager, or call `close`.

    Several threads may share a client, also threads that run an event loop, which waits meanwhile. A forked child
    process needs a client of its own.
    """

    def __init__(self, **configs: Any) -> None:
        self._client = AsyncReassignmentClient(**configs)
        self._loop = _LoopThread()
        try:
            self._loop.run(self._client.start)
        except BaseException:
            self._loop.close()
            raise

    def say_what_is_waited_for(self, say: Callable[[str], None]) -> None:
        """A call that has had no answer for three seconds calls `say` once, in the event loop's thread, with a line of
        text: why, and until when it tries. The client has to be connected."""
        self._client.say_what_is_waited_for(say)

    def close(self) -> None:
        """Close the connections. A call that another thread waits for raises RuntimeError."""
        self._loop.close(self._client.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    list_reassignments = _blocking(AsyncReassignmentClient.list_reassignments)
    describe_reassignments = _blocking(AsyncReassignmentClient.describe_reassignments)
    list_partition_reassignments = _blocking(AsyncReassignmentClient.list_partition_reassignments)
    alter_partition_reassignments = _blocking(AsyncReassignmentClient.alter_partition_reassignments)
    cancel_partition_reassignments = _blocking(AsyncReassignmentClient.cancel_partition_reassignments)
    elect_preferred_leaders = _blocking(AsyncReassignmentClient.elect_preferred_leaders)
    event_page = _blocking(AsyncReassignmentClient.event_page)
    reassignment_events = _blocking_iterator(AsyncReassignmentClient.reassignment_events)
    can_forbid_replication_factor_change = _blocking(AsyncReassignmentClient.can_forbid_replication_factor_change)
    can_compare_replicas = _blocking(AsyncReassignmentClient.can_compare_replicas)
    can_queue = _blocking(AsyncReassignmentClient.can_queue)
    can_lease_throttles = _blocking(AsyncReassignmentClient.can_lease_throttles)
    can_keep_reasons = _blocking(AsyncReassignmentClient.can_keep_reasons)
    why_disabled = _blocking(AsyncReassignmentClient.why_disabled)
    enable = _blocking(AsyncReassignmentClient.enable)
    disable = _blocking(AsyncReassignmentClient.disable)
    alter_throttles = _blocking(AsyncReassignmentClient.alter_throttles)
    healing_status = _blocking(AsyncReassignmentClient.healing_status)
    history = _blocking(AsyncReassignmentClient.history)
    status = _blocking(AsyncReassignmentClient.status)
    status_here = _blocking(AsyncReassignmentClient.status_here)
    moves_in_flight = _blocking(AsyncReassignmentClient.moves_in_flight)
    moves = _blocking(AsyncReassignmentClient.moves)
    brokers = _blocking(AsyncReassignmentClient.brokers)
    controller_state = _blocking(AsyncReassignmentClient.controller_state)
    heal_broker = _blocking(AsyncReassignmentClient.heal_broker)
    approve_repairs = _blocking(AsyncReassignmentClient.approve_repairs)
    pause_healing = _blocking(AsyncReassignmentClient.pause_healing)
    resume_healing = _blocking(AsyncReassignmentClient.resume_healing)
    cordoned = _blocking(AsyncReassignmentClient.cordoned)
    cordon = _blocking(AsyncReassignmentClient.cordon)
    hold = _blocking(AsyncReassignmentClient.hold)
    release = _blocking(AsyncReassignmentClient.release)
    can_cordon = _blocking(AsyncReassignmentClient.can_cordon)
    settings = _blocking(AsyncReassignmentClient.settings)
    change_settings = _blocking(AsyncReassignmentClient.change_settings)
    move_settings = _blocking(AsyncReassignmentClient.move_settings)
    describe_cluster = _blocking(AsyncReassignmentClient.describe_cluster)
    servers_among = _blocking(AsyncReassignmentClient.servers_among)
    describe_controller = _blocking(AsyncReassignmentClient.describe_controller)
    describe_topics = _blocking(AsyncReassignmentClient.describe_topics)
    find_topics = _blocking(AsyncReassignmentClient.find_topics)
    describe_log_dirs = _blocking(AsyncReassignmentClient.describe_log_dirs)
    alter_replica_log_dirs = _blocking(AsyncReassignmentClient.alter_replica_log_dirs)
    change_configs = _blocking(AsyncReassignmentClient.change_configs)
    throttle_moves = _blocking(AsyncReassignmentClient.throttle_moves)
    describe_everything = _blocking(AsyncReassignmentClient.describe_everything)
    describe_some = _blocking(AsyncReassignmentClient.describe_some)
    describe_quorum = _blocking(AsyncReassignmentClient.describe_quorum)
    kraft_facts = _blocking(AsyncReassignmentClient.kraft_facts)
    describe_brokers = _blocking(AsyncReassignmentClient.describe_brokers)
    describe_configs = _blocking(AsyncReassignmentClient.describe_configs)
    describe_broker_configs = _blocking(AsyncReassignmentClient.describe_broker_configs)


class _LoopThread:
    """An event loop in a thread: callers have none, or must not block it. Several threads may use it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._is_closed = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="kafka-reassign-client", daemon=True)
        self._thread.start()

    def run(self, call: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """What ends the wait, such as Ctrl-C, ends the coroutine too."""
        if os.getpid() != self._process:
            raise RuntimeError("a client has no connections in a child process: make one there")
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the client is closed")
            result = asyncio.run_coroutine_threadsafe(call(*args, **options), self._loop)
        try:
            return result.result()
        except CancelledError:
            raise RuntimeError("the client was closed during the call") from None
        except BaseException:
            result.cancel()
            raise

    def close(self, last: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """Ends what runs there, runs `last`, and ends the thread. Does nothing in a child process, or a second time."""
        with self._lock:
            if self._is_closed or os.getpid() != self._process:
                return
            self._is_closed = True
        asyncio.run_coroutine_threadsafe(_end_others(last), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _end_others(last: Callable[[], Coroutine[Any, Any, None]] | None) -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if last is not None:
        await last()
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()


Connect = Callable[[str], ReassignmentClient]
"""Takes HOST:PORT, and uses the configuration of the command."""


def running_servers(client: ReassignmentClient) -> tuple[int, dict[int, ClusterNode | None]]:
    """The controller, and where each running server is (None: the controller itself). Raises as `event_page`."""
    here = client.event_page(FROM_NOW_ON)
    return here.server, {here.server: None} | {node.id: node for node in here.servers}


def configs_of_another(configs: Mapping[str, Any], address: str) -> dict[str, Any]:
    """`address` is HOST:PORT; the timeout is short."""
    timeout_ms = min(OTHER_SERVER_MS, configs.get("request_timeout_ms", OTHER_SERVER_MS))
    return {**configs, "bootstrap_servers": address, "request_timeout_ms": timeout_ms}


class ServerClients:
    def __init__(self, client: ReassignmentClient, connect: Connect) -> None:
        self._client = client
        self._connect = connect
        self._others: dict[ClusterNode, ReassignmentClient] = {}

    def of(self, node: ClusterNode | None) -> ReassignmentClient:
        """None: the controller. Raises Unreachable."""
        if node is None:
            return self._client
        if node not in self._others:
            self._others[node] = self._connect(str(Address(node.host, node.port)))
        return self._others[node]

    def close(self) -> None:
        for client in self._others.values():
            client.close()
