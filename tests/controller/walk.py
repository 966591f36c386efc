"""Which files of the package a request passes through, from the bytes on its connection to the bytes of its answer.

`python -m tests.controller.walk` writes docs/walk.md. A real server with ZooKeeper and three simulated brokers runs in
a thread of its own, and a profiler of that thread notes every function that is called for the request: by its
connection and the task of that, or by the controller loop, which has nothing else to do. What does not run each time is
not part of the request, and left out.
"""

import asyncio
import inspect
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cached_property, partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import kafka_reassign_rpc
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.protocol.messages import AlterPartitionRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import state_json, topic_json
from tests.controller.cluster import LISTENERS, RATE, Cluster
from tests.waiting import eventually

PACKAGE = f"{Path(kafka_reassign_rpc.__file__).parent}/"
PAGE = Path(__file__).parents[2] / "docs" / "walk.md"
TASKS = {"ServerConnection._finish", "ControllerLoop.run"}
"""Coroutines of the tasks that work for a request."""
CONNECTION = "server/server_connection.py"
"""Its callbacks begin the work, outside of tasks."""
AFTER_EACH_ROUND = "TermDuties._round_replayed"
ANSWERED = "AnswerWriter.write"
TIMES = 3
"""How often each request is sent."""


class Call(NamedTuple):
    """A call of a function of ours.

    caller     the file of ours from which it was called; "" from outside
    is_duty    it belongs to what the controller does after each round, whatever was decided
    works      it has a name that says what it does: no property, no `__init__`, no lambda
    """

    file: str
    function: str
    caller: str
    is_duty: bool
    works: bool = True


class Walk(NamedTuple):
    """Files in the order in which they run, with the first function of each that works.

    handing_on   they call another file
    leaves       they call none: a reader may go by their names
    duties       they run after each round, whatever was decided
    """

    handing_on: dict[str, str]
    leaves: dict[str, str]
    duties: dict[str, str]


class _Server(Cluster):
    """A cluster whose server has a thread of its own, which can be traced."""

    async def start_server(self, server_id: int = 1000) -> None:
        self.server_id = server_id
        here, ready = asyncio.get_running_loop(), asyncio.Event()

        async def serve() -> None:
            self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
            config = ServerConfig(zookeeper_connect=self.connect, listeners=LISTENERS, server_id=server_id)
            async with ControllerProcess(config) as server:
                await server.ready()
                self.bootstrap = server.bootstrap
                here.call_soon_threadsafe(ready.set)
                await self._end.wait()

        self._thread = threading.Thread(target=asyncio.run, args=[serve()])
        self._thread.start()
        await ready.wait()
        self._wire = await self.client()

    async def stop_server(self) -> None:
        self._wire.close()
        self._loop.call_soon_threadsafe(self._end.set)
        await asyncio.to_thread(self._thread.join)

    async def _in_thread(self, do: Callable[[], None]) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_done(do), self._loop))

    async def traced(self, ask: Callable[[], Awaitable[Any]]) -> list[Call]:
        """What is called from the first bytes until the answer is there."""
        calls: list[Call] = []

        def note(frame: FrameType, event: str, _: Any) -> None:
            if event == "call" and (stack := _stack(frame)) and frame is stack[0] and _is_of_request(stack):
                file, function = _file(frame), frame.f_code.co_qualname
                caller = _file(stack[1]) if len(stack) > 1 else ""
                # The lambdas of the class hand a round to its duties: propagation alone is a step of the round.
                names = [one.f_code.co_qualname for one in stack]
                is_duty = AFTER_EACH_ROUND in names and not any(name.startswith("Propagation.") for name in names)
                calls.append(Call(file, function, caller, is_duty, _works(frame)))

        await self._in_thread(lambda: sys.setprofile(note))
        try:
            await ask()
        finally:
            await self._in_thread(lambda: sys.setprofile(None))
        end = next(place for place, call in enumerate(calls) if call.function == ANSWERED)
        begin = next(place for place, call in enumerate(calls) if call.file == CONNECTION)  # before: the end of a round
        return calls[begin : end + 1]


async def _done(do: Callable[[], None]) -> None:
    do()


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename.removeprefix(PACKAGE)


def _works(frame: FrameType) -> bool:
    name = frame.f_code.co_name
    if name.startswith(("__", "<")):
        return False
    owner = next(iter(frame.f_locals.values()), None)  # `self`, as the first argument
    return not isinstance(inspect.getattr_static(type(owner), name, None), property | cached_property)


def _stack(frame: FrameType) -> list[FrameType]:
    """The frames of ours, the innermost first."""
    found: list[FrameType] = []
    back: FrameType | None = frame
    while back is not None:
        if back.f_code.co_filename.startswith(PACKAGE):
            found.append(back)
        back = back.f_back
    return found


def _is_of_request(stack: list[FrameType]) -> bool:
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    if not isinstance(task, asyncio.Task):  # or work that has begun before its task
        return _file(stack[-1]) == CONNECTION
    return getattr(task.get_coro(), "__qualname__", "") in TASKS


def walk_of(traces: list[list[Call]]) -> Walk:
    run = set.intersection(*({call.file for call in trace} for trace in traces))
    decided = set.intersection(*({call.file for call in trace if not call.is_duty} for trace in traces))
    handing = set.intersection(
        *({call.caller for call in trace if call.caller != call.file and not call.is_duty} for trace in traces)
    )
    touched: dict[str, str] = {}
    works: dict[str, str] = {}
    for call in sorted(traces[0], key=lambda call: call.is_duty):
        if call.file in run:
            touched.setdefault(call.file, call.function)
            if call.works:
                works.setdefault(call.file, call.function)
    first = touched | works
    return Walk(
        {file: function for file, function in first.items() if file in handing},
        {file: function for file, function in first.items() if file in decided - handing},
        {file: function for file, function in first.items() if file not in decided},
    )


@asynccontextmanager
async def _standing(connect: str) -> AsyncIterator[_Server]:
    async with ZooKeeper(connect) as zk:
        server = _Server(connect, zk, DEFAULT_SETTINGS)
        try:
            await server.start_server()
            await server.configure("brokers", "<default>", {RATE: "1"})
            for broker in (1, 2, 3):
                await server.start_broker(broker)
            for broker in (1, 2, 3):
                await server.fleets[broker].ready()
            yield server
        finally:
            await server.end()


async def _alter_partition(server: _Server, name: tuple[str, int], isr: list[int]) -> None:
    """The leader of the partition, broker 1, says that its move is complete."""
    state = await state_json(server.zk, name)
    topic = AlterPartitionRequest.TopicData
    one = topic.PartitionData(
        partition_index=name[1],
        leader_epoch=state["leader_epoch"],
        new_isr=isr,
        leader_recovery_state=0,
        partition_epoch=(await server.zk.get(znode_paths.partition_state(*name)))[1].version,
    )
    epoch = (await server.zk.get(znode_paths.broker(1)))[1].czxid
    topics = [topic(topic_name=name[0], partitions=[one])]
    answer = await server.ask(AlterPartitionRequest(broker_id=1, broker_epoch=epoch, topics=topics), 1)
    assert [found.error_code for each in answer.topics for found in each.partitions] == [0], answer


async def _is_deleted(server: _Server, name: tuple[str, int]) -> bool:
    """Whether the broker that has left has confirmed it: what brokers answer is no part of the next walk."""
    return not (await topic_json(server.zk, name[0]))["removing_replicas"]


async def walks(connect: str) -> dict[str, Walk]:
    """By the name of the request."""
    alters, ends = [], []
    async with _standing(connect) as server:
        names = [(f"t{number}", 0) for number in range(TIMES + 1)]
        for topic, _ in names:
            await server.create_topic(topic, {0: [1, 2]}, held=True)
        for name in names:
            alters.append(await server.traced(partial(server.alter, {name: (1, 3)})))
            ends.append(await server.traced(partial(_alter_partition, server, name, [1, 2, 3])))
            await eventually(partial(_is_deleted, server, name))
    return {
        "AlterPartitionReassignments": walk_of(alters[1:]),  # the first one finds news of the topics, and fills caches
        "AlterPartition": walk_of(ends[1:]),
    }


def page(found: dict[str, Walk]) -> str:
    parts = [
        "<!-- `python -m tests.controller.walk` writes this page from a running server. Do not edit it. -->",
        "# The walk of a request",
        "The files of the package that run for one request, in this order, from the bytes on the connection to those"
        " of the answer: an AlterPartitionReassignments that starts the move of one partition, and the AlterPartition"
        " with which its leader ends that move. Requests to brokers, which follow the answer, are not among them, nor"
        " the tasks that read from ZooKeeper. [Architecture](architecture.md#one-request-file-by-file) says what each"
        " of the steps does.",
    ]
    for name, walk in found.items():
        rows = [f"| `{file}` | `{function}` |" for file, function in walk.handing_on.items()]
        leaves, duties = (", ".join(f"`{file}`" for file in files) for files in (walk.leaves, walk.duties))
        parts += [
            f"## {name}",
            f"{len(walk.handing_on)} files hand the request on to another file:",
            "\n".join(["| file | entered at |", "|---|---|", *rows]),
            f"{len(walk.leaves)} files are called and call no other: {leaves}.",
            f"{len(walk.duties)} files run after each round, whatever was decided: {duties}.",
        ]
    return "\n\n".join(parts) + "\n"


async def _main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with EmbeddedZooKeeper(Path(directory)) as zookeeper:
            PAGE.write_text(page(await walks(zookeeper.address)), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(_main())
