"""What each registered broker answers on its inter-broker listener, where a controller would connect to it."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.controller_channel.broker_client import ConfigsRefused, broker_configs
from kafka_reassign_rpc.controller_channel.broker_links import BrokerLinks, BrokerRefuses
from kafka_reassign_rpc.core.state.cluster import Broker, Endpoint
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError

AT_ONCE = 50

CONFIGS = (
    "alter.config.policy.class.name",
    "authorizer.class.name",
    "auto.leader.rebalance.enable",
    "control.plane.listener.name",
    "create.topic.policy.class.name",
    "delete.topic.enable",
    "inter.broker.listener.name",
    "inter.broker.protocol.version",
    "security.inter.broker.protocol",
    "zookeeper.metadata.migration.enable",
)
"""The configs of a broker that a server has to know."""


class BrokerAnswer(NamedTuple):
    """What one broker has answered. `problem`: why it has not; empty: it has.

    versions  of each API that it serves, by key
    configs   those of CONFIGS that are set or have a default
    """

    broker: Broker
    endpoint: Endpoint
    problem: str = ""
    versions: Mapping[int, tuple[int, int]] = {}
    configs: Mapping[str, str] = {}


async def ask_all(brokers: Iterable[Broker], links: BrokerLinks, client_id: str, seconds: float) -> list[BrokerAnswer]:
    """Ask each broker, for so long at most."""
    room = asyncio.Semaphore(AT_ONCE)

    async def limited(broker: Broker) -> BrokerAnswer:
        async with room:
            return await _ask(broker, links, client_id, seconds)

    return list(await asyncio.gather(*(limited(broker) for broker in sorted(brokers, key=lambda one: one.id))))


async def _ask(broker: Broker, links: BrokerLinks, client_id: str, seconds: float) -> BrokerAnswer:
    endpoint = links.endpoint(broker)
    try:
        async with asyncio.timeout(seconds):
            client = await links.open(broker, client_id, seconds)
            try:
                versions = await client.versions()
                try:
                    entries = await broker_configs(client, broker.id, CONFIGS)
                except ConfigsRefused as error:
                    return BrokerAnswer(broker, endpoint, str(error), versions)
            finally:
                client.close()
    except BrokerRefuses as error:
        return BrokerAnswer(broker, endpoint, error.reason)
    except TimeoutError:
        return BrokerAnswer(broker, endpoint, f"no answer within {seconds:g} s")
    except (OSError, EOFError, ProtocolError) as error:
        return BrokerAnswer(broker, endpoint, str(error) or type(error).__name__)
    configs = {entry.name: entry.value for entry in entries if entry.value is not None}
    return BrokerAnswer(broker, endpoint, "", versions, configs)
