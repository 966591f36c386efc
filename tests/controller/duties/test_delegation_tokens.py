"""Expired delegation tokens on a real ZooKeeper, as stock brokers write them."""

import asyncio
import json
import logging
from typing import Any

import pytest

from kafka_reassign_rpc.controller.duties import delegation_tokens
from kafka_reassign_rpc.controller.duties.delegation_tokens import expire_delegation_tokens, remove_expired_tokens
from kafka_reassign_rpc.controller.store import ControllerMoved
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import BareController, elected_controller, put_topic, register
from tests.controller.cluster import cluster
from tests.waiting import eventually

TOKENS, CHANGES = "/delegation_token/tokens", "/delegation_token/token_changes"
NOW = 1_000_000


def token(expiry: int, longest: int, **other: Any) -> bytes:
    return json.dumps(
        {
            "version": 3,
            "owner": "User%3Aalice",
            "tokenRequester": "User%3Aalice",
            "renewers": [],
            "issueTimestamp": 1,
            "maxTimestamp": longest,
            "expiryTimestamp": expiry,
            "tokenId": "x",
            **other,
        }
    ).encode()


async def put(zk: ZooKeeper, **tokens: bytes) -> None:
    for path in (TOKENS, CHANGES):
        await zk.ensure_path(path)
    for name, data in tokens.items():
        await zk.create(f"{TOKENS}/{name}", data)


async def expire(controller: BareController) -> None:
    await remove_expired_tokens(controller.zk, controller.store, lambda: NOW)


async def announced(zk: ZooKeeper) -> list[bytes]:
    return [(await zk.get(f"{CHANGES}/{name}"))[0] for name in sorted(await zk.children(CHANGES))]


async def test_sv_10_tokens_go_once_they_have_expired_and_brokers_learn_it(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    await register(zk, 1)
    await put_topic(zk, "t", {0: (1,)})
    async with elected_controller(zk_connect) as controller:
        await expire(controller)  # without any token ever
        await put(
            zk,
            expired=token(NOW - 1, NOW + 9),
            too_old=token(NOW + 9, NOW - 1),
            lives=token(NOW, NOW),
            old_version=token(NOW - 1, NOW - 1, version=1),
            unknown_version=token(NOW - 1, NOW - 1, version=4),
            garbage=b"{",
            empty=b"",
        )
        await expire(controller)
    assert sorted(await zk.children(TOKENS)) == ["empty", "garbage", "lives", "unknown_version"]
    assert sorted(await announced(zk)) == [b"expired", b"old_version", b"too_old"]
    assert {record.getMessage().partition(":")[0] for record in caplog.records} == {
        f"{TOKENS}/{name}" for name in ("empty", "garbage", "unknown_version")
    }


async def test_sv_10_a_token_that_is_renewed_while_it_is_removed_stays(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await register(zk, 1)
    await put_topic(zk, "t", {0: (1,)})
    await put(zk, a=token(NOW - 1, NOW + 9))
    async with elected_controller(zk_connect) as controller:
        read = controller.zk.multi_get

        async def renewed_meanwhile(paths: list[str]) -> Any:
            found = await read(paths)
            await zk.set(f"{TOKENS}/a", token(NOW + 5, NOW + 9))
            return found

        monkeypatch.setattr(controller.zk, "multi_get", renewed_meanwhile)
        await expire(controller)
    assert await zk.children(TOKENS) == ["a"]
    assert await announced(zk) == []


async def test_sv_10_a_former_controller_removes_no_token(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1)
    await put_topic(zk, "t", {0: (1,)})
    await put(zk, a=token(NOW - 1, NOW - 1))
    async with elected_controller(zk_connect) as former, elected_controller(zk_connect):
        with pytest.raises(ControllerMoved):
            await expire(former)
    assert await zk.children(TOKENS) == ["a"]


async def test_sv_10_tokens_that_expire_later_go_when_the_interval_is_over(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delegation_tokens, "CHECK_INTERVAL_S", 0.05)
    await register(zk, 1)
    await put_topic(zk, "t", {0: (1,)})
    async with elected_controller(zk_connect) as controller:
        looks = 0

        def now_ms() -> int:
            nonlocal looks
            looks += 1
            return NOW

        expiring = asyncio.create_task(expire_delegation_tokens(controller.zk, controller.store, now_ms))
        try:
            await put(zk, a=token(NOW, NOW))
            await eventually(lambda: looks > 1)
            assert await zk.children(TOKENS) == ["a"]
            await zk.set(f"{TOKENS}/a", token(NOW - 1, NOW))

            async def is_gone() -> bool:
                return await zk.children(TOKENS) == []

            await eventually(is_gone)
        finally:
            await end(expiring)


async def test_sv_10_a_new_controller_removes_expired_tokens(zk_connect: str) -> None:
    async with cluster(zk_connect) as world:
        await world.stop_server()
        await put(world.zk, expired=token(1, 1))
        await world.start_server()

        async def is_gone() -> bool:
            return await world.zk.exists(znode_paths.delegation_token("expired")) is None

        await eventually(is_gone)
