"""The blocking client is used from anywhere: from several threads, from one that runs an event loop, after a fork."""

import asyncio
import inspect
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafka_reassign_rpc.client import AsyncReassignmentClient, ReassignmentClient, Unreachable
from tests.python_client.scripted_nodes import LIST, ScriptedCluster, ScriptedNode, addresses, listening


@pytest.fixture
def node() -> Iterator[ScriptedNode]:
    """A node in a thread of its own: the client blocks that of the test."""
    found, stop = ScriptedNode(ScriptedCluster(), 1), asyncio.Event()
    started = threading.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with listening(found):
            started.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    started.wait(10)
    yield found
    loop.call_soon_threadsafe(stop.set)
    thread.join()
    loop.close()


def test_236_12_several_threads_share_a_client(node: ScriptedNode) -> None:
    with ReassignmentClient(bootstrap_servers=addresses([node])) as client, ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: client.list_partition_reassignments(), range(100)))
    assert found == [{}] * 100
    assert node.asked.count(LIST) == 100


async def test_236_12_a_client_works_in_a_thread_that_runs_an_event_loop(node: ScriptedNode) -> None:
    with ReassignmentClient(bootstrap_servers=addresses([node])) as client:
        assert client.list_partition_reassignments() == {}
        assert await asyncio.to_thread(client.list_partition_reassignments) == {}


def test_236_12_a_forked_process_learns_that_it_needs_a_client_of_its_own(node: ScriptedNode) -> None:
    """Else it would wait for a thread that it does not have."""
    with ReassignmentClient(bootstrap_servers=addresses([node])) as client:
        child = os.fork()
        if not child:
            try:
                client.list_partition_reassignments()
            except RuntimeError as error:
                client.close()
                os._exit(0 if "make one there" in str(error) else 2)
            os._exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert client.list_partition_reassignments() == {}


def test_236_12_closing_a_client_ends_the_call_of_another_thread(node: ScriptedNode) -> None:
    asked = threading.Event()

    def silent(_: bytes) -> bytes:
        asked.set()
        return b""

    node.replies[LIST] = silent
    client = ReassignmentClient(bootstrap_servers=addresses([node]))
    with ThreadPoolExecutor(1) as thread:
        call = thread.submit(client.list_partition_reassignments)
        assert asked.wait(10)
        client.close()
        with pytest.raises(RuntimeError, match="closed during the call"):
            call.result(10)
    client.close()
    with pytest.raises(RuntimeError, match="the client is closed"):
        client.list_partition_reassignments()


def test_240_5_each_call_of_the_asyncio_client_is_one_of_the_blocking_client_with_its_documentation() -> None:
    """All but `start`: a blocking client is connected once it is made."""
    calls = {name for name in dir(AsyncReassignmentClient) if not name.startswith("_")}
    assert {name for name in dir(ReassignmentClient) if not name.startswith("_")} == calls - {"start"}
    for name in calls - {"start", "close"}:
        asked, blocking = getattr(AsyncReassignmentClient, name), getattr(ReassignmentClient, name)
        assert not inspect.iscoroutinefunction(blocking), name
        assert inspect.signature(blocking) == inspect.signature(asked), name
        assert inspect.getdoc(blocking) == inspect.getdoc(asked) is not None, name


def test_236_12_a_client_that_cannot_connect_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    with pytest.raises(Unreachable):
        ReassignmentClient(bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=50)
    with pytest.raises(ValueError, match="Unrecognized"):
        ReassignmentClient(bootstrap_servers="127.0.0.1:1", kafka_client=object)
    assert threading.active_count() == before
