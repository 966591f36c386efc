"""Request znodes that others change while the controller works on them, and requests that always fail."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from kafka_reassign_rpc.controller.watches import request_znodes
from kafka_reassign_rpc.core.state.queue_entries import Held
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Check, Op, Result, Stat
from kafka_reassign_rpc.zookeeper.reassignment_request_znodes import encode_request
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoAuth
from tests.controller.bare_controller import BareController, elected_controller, put_request, records, waiting_moves
from tests.controller.crash_points import put_cluster

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def once_after_reading(
    monkeypatch: pytest.MonkeyPatch, controller: BareController, interfere: Callable[[], Awaitable[object]]
) -> None:
    """Call `interfere` after the controller has read requests, and before it writes anything."""
    read = controller.zk.multi_get
    left = [interfere]

    async def multi_get(places: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        found = await read(places)
        if left and any(place.startswith(znode_paths.REASSIGNMENT_REQUESTS) for place in places):
            await left.pop()()
        return found

    monkeypatch.setattr(controller.zk, "multi_get", multi_get)


def reported(controller: BareController) -> list[str]:
    return [f"{event.who} {event.topic}: {event.reason}" for event in controller.events if event.reason]


async def test_236_8_a_request_that_is_deleted_while_it_is_processed_is_withdrawn(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_cluster(zk)
    names = [await put_request(zk, {name: (5, 6)}) for name in (A0, A1, B0)]
    async with elected_controller(zk_connect) as controller:
        once_after_reading(monkeypatch, controller, lambda: zk.delete(znode_paths.reassignment_request(names[1])))
        await controller.start_requests()
        await controller.check()
        assert controller.cluster.requests == frozenset()
    assert await records(zk) == {A0, B0}
    assert await zk.children(znode_paths.REASSIGNMENT_REQUESTS) == []


async def test_236_8_a_request_that_is_changed_while_it_is_processed_is_read_again(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_cluster(zk)
    await put_request(zk, {A0: (5, 6)})
    path = znode_paths.reassignment_request(await put_request(zk, {A1: (5, 6)}))
    async with elected_controller(zk_connect) as controller:
        once_after_reading(monkeypatch, controller, lambda: zk.set(path, encode_request({B0: (5, 6)})))
        await controller.start_requests()
        await controller.check()
    assert await records(zk) == {A0, B0}
    assert await zk.children(znode_paths.REASSIGNMENT_REQUESTS) == []


async def test_236_8_a_request_that_gets_children_while_it_is_processed_is_emptied(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_cluster(zk)
    path = znode_paths.reassignment_request(await put_request(zk, {A0: (5, 6)}))
    await put_request(zk, {A1: (5, 6), ("a", 9): (1,)})
    async with elected_controller(zk_connect) as controller:
        once_after_reading(monkeypatch, controller, lambda: zk.create(f"{path}/x"))
        await controller.start_requests()
        await controller.check()
        assert await records(zk) == {A0, A1}
        assert (await zk.get(path))[0] == b""
        assert len([text for text in reported(controller) if "cannot be deleted" in text]) == 1
        assert len([text for text in reported(controller) if "does not exist" in text]) == 1, "said once, not per try"
        await controller.start_requests()
        assert len(reported(controller)) == 2
    await zk.delete(f"{path}/x")
    async with elected_controller(zk_connect) as successor:
        await successor.start_requests()
    assert await zk.children(znode_paths.REASSIGNMENT_REQUESTS) == []


async def test_236_8_reassignments_disabled_while_requests_are_processed_stay_disabled(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_cluster(zk)
    name = await put_request(zk, {A0: (5, 6)})
    async with elected_controller(zk_connect) as controller:

        async def close() -> None:
            await zk.create(znode_paths.REASSIGN_CANCEL, b"")
            await controller.read_admin_znodes()

        once_after_reading(monkeypatch, controller, close)
        await controller.start_requests()
        assert controller.cluster.requests == {name}
        assert len([text for text in reported(controller) if "1 of its znodes wait" in text]) == 1
        assert await records(zk) == set()
        await zk.delete(znode_paths.REASSIGN_CANCEL)
        await controller.read_admin_znodes()
        await controller.start_requests()
    assert await records(zk) == {A0}


async def test_236_8_a_request_that_always_fails_delays_no_other(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZooKeeper refuses every write of the request, as where an ACL forbids it."""
    await put_cluster(zk)
    bad = await put_request(zk, {A0: (5, 6)})
    await put_request(zk, {B0: (5, 6)})
    monkeypatch.setattr(request_znodes, "TRIES", 2)
    async with elected_controller(zk_connect) as controller:
        submit = controller.zk.submit_multi

        def submit_multi(ops: Sequence[Op], session: int | None = None) -> "asyncio.Future[list[Result]]":
            if any(op.path == znode_paths.topic("a") for op in ops):
                ops = [*ops, Check(znode_paths.TOPICS, 999)]
            return submit(ops, session)

        monkeypatch.setattr(controller.zk, "submit_multi", submit_multi)
        await controller.start_requests()
        assert controller.cluster.requests == frozenset()
        assert len([text for text in reported(controller) if bad in text and "left alone" in text]) == 1
    assert await records(zk) == {B0}
    assert await zk.children(znode_paths.REASSIGNMENT_REQUESTS) == [bad]
    async with elected_controller(zk_connect) as successor:
        await successor.start_requests()
    assert await records(zk) == {A0, B0}, "the next controller tries again"


async def test_236_8_a_request_that_the_controller_may_not_read_delays_no_other(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_cluster(zk)
    secret = znode_paths.reassignment_request(await put_request(zk, {A0: (5, 6)}))
    await put_request(zk, {B0: (5, 6)})
    async with elected_controller(zk_connect) as controller:
        read = controller.zk.multi_get

        async def multi_get(places: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
            if secret in places:
                raise NoAuth(secret)
            return await read(places)

        monkeypatch.setattr(controller.zk, "multi_get", multi_get)
        for _ in range(2):
            await controller.start_requests()
        assert len([text for text in reported(controller) if "its ACL keeps us from reading it" in text]) == 1
        assert await records(zk) == {B0}
        assert controller.cluster.requests == frozenset()


async def test_dh_7_requests_that_change_while_they_are_held_are_read_again_and_later_ones_start(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_cluster(zk)
    path = znode_paths.reassignment_request(await put_request(zk, {A0: (5, 6)}))

    async def interfere() -> None:
        await zk.set(path, encode_request({A0: (3, 4)}, legacy=False))
        await put_request(zk, {B0: (5, 6)})

    async with elected_controller(zk_connect) as controller:
        once_after_reading(monkeypatch, controller, interfere)
        await controller.requests.hold_all(Held(1, "controller", "others have controlled this cluster"))
        moves = waiting_moves(controller.cluster.queue)
        assert {name: (move.terms.target, move.may_start) for name, move in moves.items()} == {A0: ((3, 4), False)}
        await controller.start_requests()
        assert await records(zk) == {B0}
        await controller.check()


async def test_dh_7_a_controller_goes_on_where_it_may_not_read_which_requests_there_are(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def children(path: str, **_: bool) -> list[str]:
        raise NoAuth(path)

    async with elected_controller(zk_connect) as controller:
        monkeypatch.setattr(controller.zk, "children", children)
        await controller.requests.hold_all(Held(1, "controller"))
        assert "request znodes start once they can be read, and are not held" in caplog.text
