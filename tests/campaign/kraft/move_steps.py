"""What clients ask: topics, configs, moves by our servers and behind them. A refusal or a lost answer is part of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError
from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC, Resource
from kafka_reassign_rpc.core.state.partition import QUEUE, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.campaign import topics_by_admin
from tests.campaign.site import WAIT_S
from tests.campaign.topics_by_admin import ASK_EVERY_S

from .asked import Asked, Asking
from .kraft_plan import BROKER_IDS
from .kraft_site import STATE_TOPIC, KRaftSite

SIDES = ("leader", "follower")
RATES = tuple(f"{side}.replication.throttled.rate" for side in SIDES)
LISTS = tuple(f"{side}.replication.throttled.replicas" for side in SIDES)
Targets = Mapping[int, Sequence[int]]


# Topics


async def create_topic(site: KRaftSite, topic: str, incarnation: int, replicas: Targets, min_insync: int) -> str:
    async def id_now() -> str | None:
        found = (await site.found([topic]))[topic]
        return None if found.error is not None else found.topic_id

    site.created[topic] = time.time()
    return await topics_by_admin.create_topic(site, topic, incarnation, replicas, min_insync, id_now)


async def delete_topic(site: KRaftSite, topic: str) -> str:
    """Under load."""
    site.deleted.add(topic)

    async def progress() -> str | None:
        found = (await site.found([topic]))[topic]
        is_gone = found.error is not None and found.error.name == "UNKNOWN_TOPIC_OR_PARTITION"
        return "deleted" if is_gone else None

    ended = await topics_by_admin.delete_topic(site, topic, progress)
    await asyncio.to_thread(site.load.drop_producer, topic)
    return ended


async def grow_topic(site: KRaftSite, topic: str, partitions: int) -> str:
    async def progress() -> str | None:
        has_grown = len((await site.found([topic]))[topic].partitions) >= partitions
        return f"has {partitions} partitions" if has_grown else None

    return await topics_by_admin.grow_topic(site, topic, partitions, progress)


async def configure_topic(site: KRaftSite, topic: str, config: str, value: str | None) -> str:
    async def asked(client: AsyncReassignmentClient) -> str:
        return _shown((await client.change_configs({(TOPIC, topic): {config: value}})).values())

    return await told(site.cluster(), asked)


# Moves by our servers


async def move(site: KRaftSite, topic: str, targets: Targets) -> str:
    return await altered(site, named(topic, targets), MoveTerms)


async def move_with_lease(site: KRaftSite, topic: str, targets: Targets, rate: int) -> str:
    return await altered(site, named(topic, targets), lambda to: MoveTerms(to, throttle=rate))


async def queue_moves(site: KRaftSite, topic: str, targets: Targets, rate: int | None) -> str:
    return await altered(site, named(topic, targets), lambda to: MoveTerms(to, route=QUEUE, throttle=rate))


async def cancel(site: KRaftSite, topic: str, partitions: Sequence[int]) -> str:
    return await cancelled(site.ours(), site.requests.of_ours, [TopicPartition(topic, one) for one in partitions])


async def cancel_all(site: KRaftSite) -> str:
    """All that waits and moves, as our servers show it."""
    try:
        async with site.ours() as client:
            names = list(await client.list_partition_reassignments())
    except KafkaError as error:
        return f"no answer: {error.name}"
    return await cancelled(site.ours(), site.requests.of_ours, names) if names else "nothing moves"


async def move_log(site: KRaftSite, target: Sequence[int]) -> str:
    """The topic of the state log itself."""
    async with site.placing:
        return await altered(site, named(STATE_TOPIC, {0: target}), MoveTerms)


# Behind them


async def move_behind(site: KRaftSite, topic: str, targets: Targets) -> str:
    return await _altered_behind(site, named(topic, targets))


async def cancel_behind(site: KRaftSite, topic: str, partitions: Sequence[int]) -> str:
    return await cancelled(site.cluster(), site.requests.behind, [TopicPartition(topic, one) for one in partitions])


async def throttle_behind(site: KRaftSite, topic: str, targets: Targets, rate: int, away: float) -> str:
    """Another tool moves with throttles of its own: set before its moves, and deleted after them, as stock ones do."""
    names = named(topic, targets)
    changes: dict[Resource, dict[str, str]] = {
        (BROKER, str(one)): dict.fromkeys(RATES, str(rate)) for one in BROKER_IDS
    }
    changes[TOPIC, topic] = dict.fromkeys(LISTS, "*")

    async def throttled(client: AsyncReassignmentClient) -> str:
        return _shown((await client.change_configs(changes)).values())

    await told(site.cluster(), throttled)
    moved = await _altered_behind(site, names)
    await asyncio.sleep(away)
    return f"{moved}, then throttles deleted {await unthrottled(site, topic)}"


async def stock_tool(site: KRaftSite, topic: str, targets: Targets, rate: int, away: float) -> str:
    """kafka-reassign-partitions at the cluster: it moves with a throttle, then verifies, then cancels what still
    moves."""
    entries = [{"topic": topic, "partition": index, "replicas": list(to)} for index, to in targets.items()]
    plan = site.plan_file({"version": 1, "partitions": entries})
    base = ["--bootstrap-server", site.bootstrap, "--reassignment-json-file", str(plan)]
    moving = Asking(site.requests.behind, named(topic, targets))
    try:
        done = await site.tools.run("reassign-partitions", *base, "--execute", "--throttle", str(rate))
    finally:
        moving.lost()
    await asyncio.sleep(away)
    verified = await site.tools.run("reassign-partitions", *base, "--verify")
    cancelling = Asking(site.requests.behind, dict.fromkeys(named(topic, targets)))
    try:
        ended = await site.tools.run("reassign-partitions", *base, "--cancel")
    finally:
        cancelling.lost()
    codes = f"execute {done.code}, verify {verified.code}, cancel {ended.code}"
    return f"{codes}, then throttles deleted {await unthrottled(site, topic)}"


async def unthrottled(site: KRaftSite, topic: str) -> str:
    """As tools do when they are done: whoever has set them. It is repeated until it has come about."""
    left = {(BROKER, str(one)): dict.fromkeys(RATES) for one in BROKER_IDS} | {(TOPIC, topic): dict.fromkeys(LISTS)}
    deadline = time.monotonic() + WAIT_S
    asked = 0
    while left and time.monotonic() < deadline:
        if asked:
            await asyncio.sleep(ASK_EVERY_S)
        asked += 1
        with suppress(KafkaError):
            async with site.cluster() as client:
                answers = await client.change_configs(left)
            left = {one: some for one, some in left.items() if answers.get(one) is not None}
    assert not left, f"not within {WAIT_S:g} s: {left}"
    return f"in {asked} tries"


# How it is asked


def named(topic: str, targets: Targets) -> dict[TopicPartition, tuple[int, ...]]:
    return {TopicPartition(topic, index): tuple(to) for index, to in targets.items()}


async def altered(
    site: KRaftSite, targets: Mapping[TopicPartition, tuple[int, ...]], terms: Callable[[tuple[int, ...]], MoveTerms]
) -> str:
    asking = Asking(site.requests.of_ours, targets, await _present(site, targets))

    async def asked(client: AsyncReassignmentClient) -> str:
        return asking.answered(
            await client.alter_partition_reassignments({name: terms(to) for name, to in targets.items()})
        )

    return await told(site.ours(), asked, asking.lost)


async def _present(site: KRaftSite, names: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, ...]]:
    try:
        found = await site.found(list({name.topic for name in names}))
    except KafkaError:
        return {}
    return {
        name: partition.replicas
        for name in names
        if (partition := found[name.topic].partitions.get(name.partition)) is not None
    }


async def _altered_behind(site: KRaftSite, targets: Mapping[TopicPartition, tuple[int, ...]]) -> str:
    asking = Asking(site.requests.behind, targets)

    async def asked(client: AsyncReassignmentClient) -> str:
        return asking.answered(await client.alter_partition_reassignments(targets))

    return await told(site.cluster(), asked, asking.lost)


async def cancelled(client: AsyncReassignmentClient, kept: list[Asked], names: Sequence[TopicPartition]) -> str:
    asking = Asking(kept, dict.fromkeys(names))

    async def asked(client: AsyncReassignmentClient) -> str:
        return asking.answered(await client.cancel_partition_reassignments(names))

    return await told(client, asked, asking.lost)


async def told(
    client: AsyncReassignmentClient,
    ask: Callable[[AsyncReassignmentClient], Awaitable[str]],
    lost: Callable[[], None] = lambda: None,
) -> str:
    """What came back, or that nothing did."""
    try:
        async with client:
            return f"answered {await ask(client)}"
    except KafkaError as error:
        lost()
        return f"no answer: {error.name} {str(error)[:100]}"


def _shown(errors: Iterable[KafkaError | None]) -> str:
    return ",".join("ok" if one is None else one.name for one in errors)
