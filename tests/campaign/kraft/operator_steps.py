"""What operators do: a lost broker is repaired, another one is cordoned and drained, moves wait for a window or to be
released, and throttles of leases are deleted behind us.

Each step undoes what it has set, however often it has to ask.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError
from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC
from kafka_reassign_rpc.core.brokers.cordon import ALL_LOG_DIRS, LOG_DIRS
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.settings.healing_settings import INTERVAL, MAX_BROKERS
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.core.settings.windows import DAYS, WINDOWS
from kafka_reassign_rpc.core.state.partition import QUEUE, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.campaign.generator import INTERNAL_TOPICS
from tests.campaign.site import WAIT_S
from tests.campaign.topics_by_admin import ASK_EVERY_S

from .asked import touching
from .kraft_plan import BROKER_IDS
from .kraft_site import STATE_TOPIC, KRaftSite
from .move_steps import LISTS, RATES, Targets, altered, cancelled, named, told, unthrottled
from .rule_checks import Cordon, Lost, Placed, repaired_in_time, unrepaired

LIMIT_S = 5.0
"""For which a broker has to be away until it is repaired: longer than a live one may look fenced."""
SLOW = 30_000
"""Bytes/s: so that a move is not over before something else is done."""
NO_PLACE = "INVALID_REPLICA_ASSIGNMENT"
T = TypeVar("T")

# Self-healing


async def lose_broker(site: KRaftSite, broker: int, away: float, brake: bool) -> str:
    """It is away until its replicas are elsewhere. With `brake` no repair may start until that is lifted."""
    async with site.placing:
        lost = await _to_lose(site, broker)
        limits = {INTERVAL: f"{LIMIT_S * 1000:.0f}", **({MAX_BROKERS: "0"} if brake else {})}
        await _set(site, limits)
        lost.begin = time.time()
        site.lost.append(lost)
        before = await _until(lambda: _placed(site), "a broker shows the topics")
        await site.brokers[lost.broker].kill()
        try:
            if brake:
                await _until(lambda: _is_held_back(site, lost.begin), "repairs are held back")
                await asyncio.sleep(away)
                await _set(site, {MAX_BROKERS: None})

            async def are_elsewhere() -> bool:
                asked = [*site.requests.of_ours, *site.requests.behind]
                left = unrepaired(lost.broker, BROKER_IDS, before, await _placed(site))
                return not [name for name in left if not touching(asked, name, lost.begin)]

            await _until(are_elsewhere, f"broker {lost.broker} is repaired")
        finally:
            await site.brokers[lost.broker].start()
            await _set(site, dict.fromkeys(limits))
        await site.unfenced(lost.broker)
        lost.end = time.time()
    moves = repaired_in_time(site.audit.rounds, lost)
    return f"broker {lost.broker} was away for {lost.end - lost.begin:.0f} s, {moves} moves of repairs"


async def _to_lose(site: KRaftSite, broker: int) -> Lost:
    """This one; but the state log, whose min.insync.replicas is 2, has two live replicas without it."""

    async def log_at_rest() -> tuple[int, ...]:
        placed = await _placed(site)
        found = placed[TopicPartition(STATE_TOPIC, 0)]
        return () if found.is_moving else found.replicas

    log = await _until(log_at_rest, "the state log is at rest")
    if broker in log and len(log) < len(BROKER_IDS):
        broker = next(one for one in BROKER_IDS if one not in log)
    return Lost(broker, LIMIT_S)


async def _placed(site: KRaftSite) -> Mapping[TopicPartition, Placed]:
    """As a broker shows it. Raises KafkaError."""
    async with site.cluster() as client:
        moving = await client.list_partition_reassignments()
        found = await client.find_topics([*site.topics, *INTERNAL_TOPICS, STATE_TOPIC])
    return {
        (name := TopicPartition(topic, index)): Placed(tuple(one.replicas), told.topic_id, name in moving)
        for topic, told in found.items()
        for index, one in told.partitions.items()
    }


async def _is_held_back(site: KRaftSite, since: float) -> bool:
    return any(one["event"] == catalogue.HEAL_HELD_BACK and one["at"] / 1000 >= since for one in site.events())


# Cordons


async def cordon_broker(site: KRaftSite, topic: str, broker: int, away: float, drain: str) -> str:
    """By Kafka's own config. `drain`: "drain", "cancelled": its replicas of the topic are to move away, and that is
    cancelled; "no": they stay."""
    async with site.placing:
        await _configured(site, broker, ALL_LOG_DIRS)
        cordon = Cordon(broker, time.time())
        site.cordons.append(cordon)
        try:
            asked = await _refused(site, topic, broker)
            cordon.known = time.time()
            drained = await _drained(site, topic, broker, drain)
            await asyncio.sleep(away)
        finally:
            cordon.end = time.time()
            await _configured(site, broker, None)
    return f"refused after {asked} requests, {drained}, opened again"


async def _configured(site: KRaftSite, broker: int, value: str | None) -> None:
    async def is_set() -> bool:
        async with site.cluster() as client:
            changed = await client.change_configs({(BROKER, str(broker)): {LOG_DIRS: value}})
        return set(changed.values()) == {None}

    await _until(is_set, f"broker {broker} has {LOG_DIRS}={value}")


async def _refused(site: KRaftSite, topic: str, broker: int) -> int:
    """How often it was asked until it was refused to have a replica there: in either order, since a target that the
    partition has already is never refused."""
    target = (broker, next(one for one in BROKER_IDS if one != broker))
    asked = 0

    async def is_refused() -> bool:
        nonlocal asked
        asked += 1
        return NO_PLACE in await altered(site, named(topic, {0: target[:: 1 if asked % 2 else -1]}), MoveTerms)

    await _until(is_refused, f"no replica of {topic} is brought to broker {broker}")
    return asked


async def _drained(site: KRaftSite, topic: str, broker: int, drain: str) -> str:
    if drain == "no":
        return "not drained"
    others = tuple(one for one in BROKER_IDS if one != broker)
    try:
        placed = await _placed(site)
    except KafkaError as error:
        return f"not drained: {error.name}"
    there = {name: others for name, one in placed.items() if name.topic == topic and broker in one.replicas}
    if not there:
        return "nothing is there"
    drained = f"drained: {await altered(site, there, lambda to: MoveTerms(to, throttle=SLOW))}"
    if drain != "cancelled":
        return drained
    return f"{drained}, cancelled: {await cancelled(site.ours(), site.requests.of_ours, list(there))}"


# What starts later


async def hold_moves(site: KRaftSite, topic: str, targets: Targets, away: float) -> str:
    """Moves are queued while reassignments are disabled, held, and released after a while."""
    await _set(site, {ENABLED: "false"})
    try:
        queued = await _queued(site, topic, targets)
        held = await told(site.ours(), lambda client: _held(client, topic))
    finally:
        await _set(site, {ENABLED: None})
    await asyncio.sleep(away)

    async def are_released() -> bool:
        async with site.ours() as client:
            await client.release(topics=[topic])
        return True

    await _until(are_released, f"moves of {topic} are released")
    return f"queued: {queued}; held: {held}; released"


async def _held(client: AsyncReassignmentClient, topic: str) -> str:
    return f"{(await client.hold(topics=[topic])).changed} changed"


async def close_window(site: KRaftSite, topic: str, targets: Targets, away: float) -> str:
    """Moves are queued outside of any window, and start after that."""
    later = DAYS[(time.gmtime().tm_wday + 3) % len(DAYS)]
    await _set(site, {WINDOWS: f"{later} 00:00-00:01 UTC"})
    try:
        queued = await _queued(site, topic, targets)
        await asyncio.sleep(away)
    finally:
        await _set(site, {WINDOWS: None})
    return f"queued: {queued}; opened"


async def _queued(site: KRaftSite, topic: str, targets: Targets) -> str:
    return await altered(site, named(topic, targets), lambda to: MoveTerms(to, route=QUEUE))


# Leases


async def strip_throttle(site: KRaftSite, topic: str, targets: Targets, away: float) -> str:
    """Another tool deletes the throttle of a lease: it is there again as long as the lease needs it, unless a tool has
    deleted it before."""
    since = time.time()
    moved = await altered(site, named(topic, targets), lambda to: MoveTerms(to, throttle=SLOW))
    deadline = time.monotonic() + away
    while not await _is_throttled(site, topic):
        if time.monotonic() > deadline:
            return f"{moved}, and no throttle came"
        await asyncio.sleep(ASK_EVERY_S)
    deleted = await unthrottled(site, topic)
    names = named(topic, targets).keys()
    back = "put back"

    async def is_back_or_over() -> bool:
        nonlocal back
        if await _is_throttled(site, topic):
            return True
        if _is_left(site, since):
            back = "left, since it was deleted before"
            return True
        async with site.cluster() as client:
            moving = names & (await client.list_partition_reassignments()).keys()
        back = f"not put back, {len(moving)} in flight"
        return not moving

    await _until(is_back_or_over, f"the throttle of {topic} is there again")
    return f"{moved}, throttle deleted {deleted}, {back}"


def _is_left(site: KRaftSite, since: float) -> bool:
    told = (one for one in site.events() if one["event"] == catalogue.THROTTLE_REMOVED and one["at"] / 1000 >= since)
    return any("until it is set again" in one["reason"] for one in told)


async def _is_throttled(site: KRaftSite, topic: str) -> bool:
    """False also where nobody says it."""
    try:
        async with site.cluster() as client:
            of_topic = await client.describe_configs([(TOPIC, topic)])
            of_brokers = await client.describe_broker_configs(BROKER_IDS)
    except KafkaError:
        return False
    set_ = {
        one.name
        for some in (*of_topic.values(), *of_brokers.values())
        if not isinstance(some, KafkaError)
        for one in some
    }
    return set_ >= {*LISTS, *RATES}


# How it is asked


async def _set(site: KRaftSite, changes: Mapping[str, str | None]) -> None:
    """Settings of all servers."""

    async def are_set() -> bool:
        async with site.ours() as client:
            await client.change_settings(changes)
        return True

    await _until(are_set, f"settings are {changes}")


async def _until(condition: Callable[[], Awaitable[T]], what: str) -> T:
    """What it gives once that is true. Raises TimeoutError after WAIT_S."""
    deadline = time.monotonic() + WAIT_S
    last = "not yet"
    while time.monotonic() < deadline:
        try:
            if found := await condition():
                return found
            last = "not yet"
        except KafkaError as error:
            last = f"{error.name} {str(error)[:100]}"
        await asyncio.sleep(ASK_EVERY_S)
    raise TimeoutError(f"not within {WAIT_S:g} s: {what}; the last answer: {last}")
