"""Asks some brokers what they know of topics that others may have edited while no controller ran, before they are sent
anything: from then on they know what ZooKeeper has."""

import asyncio
import logging
import random
from collections.abc import Callable, Iterable, Sequence

from kafka_reassign_rpc.core.failover import Told
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.transport.broker_answers import known_topics
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.transport.rpc_client import NoCommonVersion

log = logging.getLogger(__name__)

ANSWER_S = 1.0
"""How long a failover waits for the answers at most."""
ASKED = 3
"""How many brokers are asked: one may have started again, and know nothing."""


async def ask(
    brokers: Iterable[Broker],
    links: BrokerLinks,
    client_id: str,
    names: Sequence[str],
    is_enough: Callable[[Told], bool],
) -> list[Told]:
    """What brokers say in time, in the order of broker ids: all that were asked, or those up to the first one that
    `is_enough`. So a broker that does not answer delays a failover only where another one finds something."""
    known = list(brokers)
    asked = random.sample(known, min(ASKED, len(known))) if names else []
    tasks = [asyncio.create_task(_ask(one, links, client_id, names)) for one in asked]
    told = list[Told]()
    try:
        for answered in asyncio.as_completed(tasks):
            told.append(await answered)
            if is_enough(told[-1]):
                break
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return sorted(told, key=lambda one: one.broker)


async def _ask(broker: Broker, links: BrokerLinks, client_id: str, names: Sequence[str]) -> Told:
    told, pace = Told(broker.id, {}, {}), Pace()
    try:
        async with asyncio.timeout(ANSWER_S):
            client = await links.open(broker, client_id, ANSWER_S)
            try:
                async for topic in known_topics(client, names):
                    told.ids[topic.name] = topic.topic_id
                    for one in topic.partitions:
                        if not one.error_code:
                            name = TopicPartition(topic.name, one.partition_index)
                            told.leaders[name] = one.leader_id, one.leader_epoch
                        await pace.rest()
            finally:
                client.close()
    except (OSError, TimeoutError, EOFError, ProtocolError, NoCommonVersion) as error:
        log.debug("broker %d does not say all that it knows: %s", broker.id, error or type(error).__name__)
    return told
