"""What clients ask: topics, configs, moves by every route. A refusal or a lost answer is part of the campaign."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from kafka_reassign_rpc.client.config_calls import TOPIC, config_request
from kafka_reassign_rpc.protocol.messages import ElectLeadersRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, Delete, Stat
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NodeExists, NoNode, ZkError
from tests.controller.bare_controller import batch, put_request
from tests.faults.cluster import Name, alter, ask

from . import topics_by_admin
from .site import SEIZED_WITHIN_S, Site
from .topics_by_admin import ASK_EVERY_S, ASK_S, Targets

LEFT_TO_STOCK = "nothing: a stock broker controls, and these partitions move"
T = TypeVar("T")


async def create_topic(site: Site, topic: str, incarnation: int, replicas: Targets, min_insync: int) -> str:
    return await topics_by_admin.create_topic(
        site, topic, incarnation, replicas, min_insync, lambda: _topic_id(site, topic)
    )


async def delete_topic(site: Site, topic: str) -> str:
    """Under load. Returns when the deletion is asked for durably; it may take until every replica is reachable."""
    async with site.deletion():
        before = site.topic_ids[topic]

        async def progress() -> str | None:
            if await _topic_id(site, topic) != before:
                return "deleted"
            return "is being deleted" if await site.zk.exists(znode_paths.delete_topic(topic)) is not None else None

        ended = await topics_by_admin.delete_topic(site, topic, progress)
    await asyncio.to_thread(site.load.drop_producer, topic)
    return ended


async def vanish_topic(site: Site, topic: str, away: float) -> str:
    """Somebody deletes the topic's znodes by hand, under load, and puts them back as they were: it is the same topic.

    A stock controller does not take up a partition whose state is there already, and one that finds it when it is
    elected gives it no epochs that brokers accept. So the znodes vanish, come back and are taken up while a server of
    ours controls. Each of the last two is waited for SEIZED_WITHIN_S at most: a hand-over waits for this step. A stock
    broker that is the controller in the end all the same gives way, as at the end of each step of the servers' lane.
    """
    async with site.deletion():  # no hand-over begins meanwhile
        if await site.stock_controls():
            return "nothing: a stock broker controls"
        znodes = await _taken_away(site, topic)
        await asyncio.sleep(away)
        await _while_patient(site.stock_controls)
        await _put_back(site, topic, znodes)
        states = [znode.path for znode in znodes if znode.path.endswith("/state")]

        async def is_left_alone() -> bool:
            found = [await site.read(lambda: site.zk.exists(path)) for path in states]  # noqa: B023
            return any(stat is not None and stat.version == 0 for stat in found)

        await _while_patient(is_left_alone)
    if await site.stock_controls():
        async with site.servers:
            await site.take_over()
    return f"{len(znodes)} znodes were gone for {away:g} s"


async def _while_patient(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait as long as it holds, but not longer than SEIZED_WITHIN_S."""
    deadline = time.monotonic() + SEIZED_WITHIN_S
    while await holds() and time.monotonic() < deadline:
        await asyncio.sleep(ASK_EVERY_S)


async def _taken_away(site: Site, topic: str) -> Sequence[Create]:
    """Delete the topic's znodes in one transaction, and give them as they were then, parents first."""
    saved: list[tuple[str, tuple[bytes, Stat]]] = []

    async def taken() -> bool:
        if saved and await _topic_id(site, topic) is None:  # the answer to the deletion was lost
            return True
        paths = sorted(await site.zk.tree(znode_paths.topic(topic)))
        if not paths:  # it was carried out only now
            raise NoNode(znode_paths.topic(topic))
        saved[:] = [(path, await site.zk.get(path)) for path in paths]
        await site.zk.multi([Delete(path, stat.version) for path, (_, stat) in reversed(saved)])
        return True

    await site.read(taken)
    return [Create(path, data) for path, (data, _) in saved]


async def _put_back(site: Site, topic: str, znodes: Sequence[Create]) -> None:
    async def put_back() -> None:
        if await _topic_id(site, topic) is None:
            await site.zk.multi(znodes)

    await site.read(put_back)
    if (now := await site.read(lambda: _topic_id(site, topic))) != site.topic_ids[topic]:
        raise AssertionError(f"{topic} has the id {now} instead of {site.topic_ids[topic]}")


async def grow_topic(site: Site, topic: str, partitions: int) -> str:
    async def progress() -> str | None:
        found: dict[str, list[int]] = json.loads((await site.zk.get(znode_paths.topic(topic)))[0])["partitions"]
        return f"on {found[last]}" if (last := str(partitions - 1)) in found else None

    return await topics_by_admin.grow_topic(site, topic, partitions, progress)


async def configure_topic(site: Site, topic: str, config: str, value: str | None) -> str:
    """The controller is asked. A stock broker writes back all configs of the topic as it has read them before: it would
    bring back the throttles of a lease that ends at that moment.
    """
    request = config_request({(TOPIC, topic): {config: value}})

    async def configured() -> int:
        answer = await ask(await site.controller_address(), request, 1)
        return int(answer.responses[0].error_code)

    return await _told(configured(), str)


async def elect_preferred(site: Site, topic: str, partitions: list[int]) -> str:
    wanted = ElectLeadersRequest.TopicPartitions(topic=topic, partitions=partitions)
    request = ElectLeadersRequest(election_type=0, topic_partitions=[wanted], timeout_ms=ASK_S * 1000)

    async def elected() -> list[int]:
        answer = await ask(await site.controller_address(), request, 1)
        return [one.error_code for found in answer.replica_election_results for one in found.partition_result]

    return await _told(elected(), _codes)


async def move(site: Site, topic: str, targets: Targets) -> str:
    return await _altered(site, topic, targets)


async def move_with_lease(site: Site, topic: str, targets: Targets, rate: int) -> str:
    return await _altered(site, topic, targets, rate)


async def cancel(site: Site, topic: str, partitions: list[int]) -> str:
    return await _altered(site, topic, dict.fromkeys(partitions))


async def queue_moves(site: Site, topic: str, targets: Targets) -> str:
    return await _told(site.zk.create(znode_paths.REASSIGN_QUEUE, batch(_named(topic, targets))), lambda _: "written")


async def request_moves(site: Site, topic: str, targets: Targets, legacy: bool) -> str:
    return await _told(put_request(site.zk, _named(topic, targets), legacy=legacy), lambda name: name)


async def batch_moves(site: Site, topic: str, targets: Targets) -> str:
    async def written() -> str:
        entries = await _without_moves_of_stock(site, topic, targets)
        if not entries:
            return LEFT_TO_STOCK
        await site.zk.create(znode_paths.REASSIGN_PARTITIONS, batch(_named(topic, entries)))
        return "written"

    return await _told(written(), str)


async def cancel_batch(site: Site) -> str:
    """Whatever batch is in progress. Without one the znode is not written."""

    async def cancelled() -> str:
        if await site.zk.exists(znode_paths.REASSIGN_PARTITIONS) is None:
            return "no batch"
        await site.zk.create(znode_paths.CANCEL_IN_PROGRESS)
        return "written"

    return await _told(cancelled(), str)


def _named(topic: str, targets: Mapping[int, Sequence[int] | None]) -> dict[Name, Any]:
    return {(topic, index): None if replicas is None else tuple(replicas) for index, replicas in targets.items()}


async def _altered(site: Site, topic: str, targets: Mapping[int, Sequence[int] | None], rate: int = -1) -> str:
    async def altered() -> str:
        address = await site.controller_address()
        left = await _without_moves_of_stock(site, topic, targets)
        if not left:
            return LEFT_TO_STOCK
        return _codes((await alter(address, _named(topic, left), throttle=rate)).values())

    return await _told(altered(), str)


async def _without_moves_of_stock(site: Site, topic: str, targets: Mapping[int, T]) -> dict[int, T]:
    """Without the partitions that move, where a stock broker controls.

    At a cancel and at a change of target it stops the adding replicas that are not needed any more and deletes their
    logs at once, also where nobody else is in sync (KafkaController.updateCurrentReassignment): records are lost.
    """
    if not await site.stock_controls():
        return dict(targets)
    found = json.loads((await site.zk.get(znode_paths.topic(topic)))[0])
    moving = {*found.get("adding_replicas", ()), *found.get("removing_replicas", ())}
    return {index: target for index, target in targets.items() if str(index) not in moving}


async def _told(question: Awaitable[Any], show: Callable[[Any], object]) -> str:
    """What came back, or that nothing did."""
    try:
        async with asyncio.timeout(3 * ASK_S):
            return f"answered {show(await question)}"
    except NodeExists:
        return "another one is in progress"
    except (OSError, EOFError, AssertionError, LookupError, ZkError) as error:
        return f"no answer: {type(error).__name__} {str(error)[:100]}"


async def _topic_id(site: Site, topic: str) -> str | None:
    try:
        return str(json.loads((await site.zk.get(znode_paths.topic(topic)))[0])["topic_id"])
    except NoNode:
        return None


def _codes(errors: Iterable[int]) -> str:
    return ",".join(map(str, errors))
