"""Topics are made, grown and deleted by an admin client, as both campaigns do it. Each is asked for again and again
until it has come about: a topic's name may still be that of one that is being deleted, and answers get lost.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from kafka_reassign_rpc.client import KafkaError
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

from .load import Load
from .producers import Configs
from .site import WAIT_S

ASK_S = 10
ASK_EVERY_S = 0.3
T = TypeVar("T")
Targets = Mapping[int, list[int]]


class ServedSite(Protocol):
    """What both campaigns' sites have."""

    topics: dict[str, int]
    topic_ids: dict[str, str]
    load: Load

    @property
    def admin(self) -> dict[str, str]: ...


async def create_topic(
    site: ServedSite,
    topic: str,
    incarnation: int,
    replicas: Mapping[int, Sequence[int]],
    min_insync: int,
    id_now: Callable[[], Awaitable[str | None]],
) -> str:
    new = NewTopic(
        topic,
        num_partitions=len(replicas),
        replica_assignment=[list(one) for one in replicas.values()],
        config={"min.insync.replicas": str(min_insync)},
    )
    before = site.topic_ids.get(topic)

    async def new_id() -> str | None:
        found = await id_now()
        return None if found == before else found

    asked, site.topic_ids[topic] = await _asked_until(
        site, new_id, lambda admin: admin.create_topics([new], operation_timeout=5, request_timeout=ASK_S)
    )
    site.topics[topic] = len(replicas)
    site.load.start_producer(topic, incarnation, len(replicas))
    return f"created, asked {asked} times"


async def delete_topic(site: ServedSite, topic: str, progress: Callable[[], Awaitable[str | None]]) -> str:
    """Under load, whose producer the caller drops then. `progress`: what has become of it, None: nothing yet."""
    site.load.end(topic)
    site.topics.pop(topic)
    asked, ended = await _asked_until(
        site, progress, lambda admin: admin.delete_topics([topic], operation_timeout=5, request_timeout=ASK_S)
    )
    return f"{ended}, asked {asked} times"


async def grow_topic(
    site: ServedSite, topic: str, partitions: int, progress: Callable[[], Awaitable[str | None]]
) -> str:
    """More partitions, which the controller places. `progress` as for `delete_topic`."""
    new = NewPartitions(topic, partitions)
    asked, grown = await _asked_until(
        site, progress, lambda admin: admin.create_partitions([new], operation_timeout=5, request_timeout=ASK_S)
    )
    site.topics[topic] = partitions
    site.load.grow(topic, partitions)
    return f"{grown}, asked {asked} times"


async def _asked_until(
    site: ServedSite, done: Callable[[], Awaitable[T | None]], question: Callable[[AdminClient], dict[str, Any]]
) -> tuple[int, T]:
    """How often it was asked until it had come about, and what `done` gives. Raises TimeoutError after WAIT_S."""
    deadline = time.monotonic() + WAIT_S
    asked, last = 0, "nothing yet"
    while time.monotonic() < deadline:
        try:
            if found := await done():
                return asked, found
            asked += 1
            last = await asyncio.to_thread(_ask_admin, site.admin, question)
            if found := await done():
                return asked, found
        except (KafkaError, ZkError) as error:
            last = f"{type(error).__name__} {str(error)[:100]}"
        await asyncio.sleep(ASK_EVERY_S)
    raise TimeoutError(f"not within {WAIT_S:g} s, asked {asked} times; the last answer: {last}")


def _ask_admin(configs: Configs, question: Callable[[AdminClient], dict[str, Any]]) -> str:
    admin = AdminClient({**configs, "log_level": 0})
    try:
        for answer in question(admin).values():
            answer.result(2 * ASK_S)
    except (KafkaException, TimeoutError) as error:
        return f"{type(error).__name__} {str(error)[:100]}"
    return "done"
