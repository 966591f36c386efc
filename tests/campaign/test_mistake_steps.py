"""A topic has the id of another for a while, and configs that end brokers are asked for."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import pytest

from kafka_reassign_rpc.protocol.messages import IncrementalAlterConfigsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import Unknown
from tests.controller.bare_controller import put_topic, topic_json

from . import mistake_steps
from .facts import View
from .generator import HOLDER
from .mistake_steps import bad_defaults, twin_ids
from .site import SERVER_IDS, Site
from .test_vanish_topic import site_of

OURS = SERVER_IDS["a"]
NODE = ("127.0.0.1", 1)


class Disturbed:
    """The real ZooKeeper, but the controller writes the topic's znode before each first try, and the answer to each
    second one is lost."""

    def __init__(self, zk: ZooKeeper) -> None:
        self._zk = zk
        self.tried = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._zk, name)

    async def set(self, path: str, data: bytes, version: int = -1) -> None:
        self.tried += 1
        if self.tried % 3 == 1:
            await self._zk.set(path, json.dumps(await topic_json(self._zk, "t") | {"tried": self.tried}).encode())
        await self._zk.set(path, data, version)
        if self.tried % 3 == 2:
            raise Unknown


async def site_with(
    zk: ZooKeeper, monkeypatch: pytest.MonkeyPatch, *, foreign: bool = False, controller: int = OURS
) -> tuple[Site, list[str]]:
    """`foreign`: whether nodes show the topic by the id of HOLDER. And the ids that the znode had when they were
    asked."""
    await put_topic(zk, HOLDER, {0: (1, 2)})
    site = await site_of(zk, controller, Disturbed(zk))
    holders = (await topic_json(zk, HOLDER))["topic_id"]
    seen: list[str] = []

    async def read_view(address: object) -> View:
        seen.append((await topic_json(zk, "t"))["topic_id"])
        shown = {("t", 0): holders if foreign else site.topic_ids["t"], (HOLDER, 0): holders}
        return View(OURS, frozenset(), {name: f"id {one} error 0" for name, one in shown.items()})

    async def controller_address() -> object:
        return NODE

    monkeypatch.setattr(mistake_steps, "read_view", read_view)
    monkeypatch.setattr(Site, "nodes", {1: NODE, OURS: NODE})
    site.controller_address = controller_address  # type: ignore[method-assign,assignment]
    return site, seen


async def test_sv_4_a_topic_has_another_ones_id_for_a_while_and_nothing_else_of_its_znode_is_undone(
    zk: ZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, seen = await site_with(zk, monkeypatch)
    before = await topic_json(zk, "t")
    assert (await twin_ids(site, "t", 0.0)).startswith("2 nodes show no two topics by one id")
    assert seen == [(await topic_json(zk, HOLDER))["topic_id"]] * 2 + [before["topic_id"]]
    assert await topic_json(zk, "t") == before | {"tried": 4}
    assert not site.deletions


async def test_sv_4_a_node_that_shows_the_topic_by_the_others_id_fails_the_step_and_the_topic_has_its_own_again(
    zk: ZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, _ = await site_with(zk, monkeypatch, foreign=True)
    with pytest.raises(AssertionError, match=f"node 1 shows topics {HOLDER}, t by the id"):
        await twin_ids(site, "t", 0.0)
    assert (await topic_json(zk, "t"))["topic_id"] == site.topic_ids["t"]


async def test_sv_4_no_topic_gets_another_ones_id_while_a_stock_broker_controls(
    zk: ZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, _ = await site_with(zk, monkeypatch, controller=1)
    version = (await zk.get(znode_paths.topic("t")))[1].version
    assert await twin_ids(site, "t", 0.0) == "nothing: a stock broker controls"
    assert (await zk.get(znode_paths.topic("t")))[1].version == version


class Answer(NamedTuple):
    error_code: int
    error_message: str = ""


async def asked(monkeypatch: pytest.MonkeyPatch, answers: Sequence[int | OSError]) -> str:
    """How the step ends where a server gives these answers."""
    left = iter(answers)
    lines: list[str] = []

    async def ask(address: object, request: IncrementalAlterConfigsRequest, version: int) -> object:
        [resource] = request.resources
        assert [(one.name, one.value) for one in resource.configs] == [("log.flush.interval.ms", "-1")]
        assert (resource.resource_type, resource.resource_name, request.validate_only) == (4, "", False)
        answer = next(left)
        if isinstance(answer, OSError):
            raise answer
        return type("Response", (), {"responses": [Answer(answer)]})

    async def stop_broker(site: object, broker: int, away: float) -> str:
        lines.append(f"broker {broker} was away for {away:g} s")
        return lines[-1]

    monkeypatch.setattr(mistake_steps, "ask", ask)
    monkeypatch.setattr(mistake_steps, "stop_broker", stop_broker)
    monkeypatch.setattr(mistake_steps, "ASK_EVERY_S", 0.0)
    monkeypatch.setattr(mistake_steps, "WAIT_S", 0.2)
    site = cast(Site, type("Here", (), {"cluster": type("Cluster", (), {"address": lambda name: NODE})}))
    try:
        return await bad_defaults(site, 2, 1.0, "a", "log-defaults")
    finally:
        assert next(left, None) is None


async def test_hm_1_configs_that_end_brokers_are_asked_for_until_they_are_refused_and_then_a_broker_is_restarted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = await asked(monkeypatch, [ConnectionRefusedError(), 7, 42])
    assert ended == "refused by 42, asked 3 times; broker 2 was away for 1 s"
    with pytest.raises(AssertionError, match="is accepted"):
        await asked(monkeypatch, [7, 0])
