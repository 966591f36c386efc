"""Requests whose connection to ZooKeeper is cut: the cluster that they are tried on, and the list of cases."""

import json
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from kafka_reassign_rpc.protocol.messages import DoCommandRequest
from tests.controller.cluster import Cluster
from tests.zookeeper.cutting_proxy import Cut, CuttingProxy, When


class Tried:
    """A cluster whose server has its connection cut in `cut()`, at write `place` of what is asked there. `number` is
    another one each time."""

    def __init__(self, world: Cluster, proxy: CuttingProxy, when: When) -> None:
        self.world = world
        self.zk = world.zk
        self._proxy = proxy
        self._when = when
        self.number = -1
        self.place = 0
        self.cuts = 0
        self.answered: set[str] = set()
        """The APIs that were asked under a cut."""
        self._ask = world.ask

    @contextmanager
    def cut(self) -> Iterator[None]:
        self._proxy.plan(Cut(self.place, self._when, fin=bool(self.number % 2)))
        self.world.ask = self._noted  # type: ignore[method-assign]
        yield
        self.world.ask = self._ask  # type: ignore[method-assign]
        self.cuts += self._proxy.made
        self._proxy.plan()

    async def _noted(self, request: Any, version: int) -> Any:
        command = f" {request.command}" if isinstance(request, DoCommandRequest) else ""
        self.answered.add(type(request).__name__.removesuffix("Request") + command)
        return await self._ask(request, version)

    async def ask(self, request: Any, version: int) -> Any:
        """The answer to a request under a cut."""
        with self.cut():
            return await self.world.ask(request, version)

    async def announced(self, root: str) -> int:
        """How many announcements were ever made under a znode."""
        stat = await self.zk.exists(root)
        return 0 if stat is None else stat.cversion


class Case(NamedTuple):
    """Requests of these APIs (of DoCommand with the command), with checks of answers and of what is durable."""

    apis: Collection[str]
    run: Callable[[Tried], Awaitable[None]]


CASES: list[Case] = []


def case(*apis: str) -> Callable[[Callable[[Tried], Awaitable[None]]], None]:
    return lambda run: CASES.append(Case(apis, run))


async def configs_at(tried: Tried, path: str) -> Mapping[str, str]:
    found: Mapping[str, str] = json.loads((await tried.zk.get(path))[0])["config"]
    return found


async def moved_on(tried: Tried, root: str, before: int, by: int = 1) -> None:
    """This many announcements were made since, and none twice."""
    assert await tried.announced(root) == before + by
