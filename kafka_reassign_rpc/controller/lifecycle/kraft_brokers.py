"""The brokers of a cluster that a KRaft controller controls, for clients that ask a server of ours during a migration.

From its step 5 on brokers restart in KRaft mode, and no longer register in ZooKeeper. So a server remembers where it
has seen brokers, and asks one of them which are live, as long as `/controller` is the KRaft controller's.
"""

import logging
import random
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import MetadataRequest
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.transport.rpc_client import NoCommonVersion

log = logging.getLogger(__name__)

ANSWER_S = 2.0
ASKED = 3
"""How many brokers are asked at most, one after the other."""
AGAIN_S = 5.0


class _Node(Protocol):
    node_id: int
    host: str
    port: int
    rack: str | None


class KRaftBrokers:
    def __init__(self, links: BrokerLinks, client_id: str) -> None:
        self._links = links
        self._client_id = client_id
        self._remembered: dict[int, Broker] = {}

    def remember(self, brokers: Mapping[int, Broker]) -> Mapping[int, Broker]:
        """All that were ever seen."""
        self._remembered.update(brokers)
        return dict(self._remembered)

    def forget(self) -> None:
        self._remembered.clear()

    async def live(self, servers: Collection[int]) -> Mapping[int, Broker]:
        """As one of them says; all that are remembered if none answers. `servers`: ids of servers of ours, which a
        broker takes for brokers until the KRaft controller has corrected it.
        """
        known = list(self._remembered.values())
        for broker in random.sample(known, min(ASKED, len(known))):
            try:
                client = await self._links.open(broker, self._client_id, ANSWER_S)
                try:
                    version = await client.version(MetadataRequest)
                    answer = await client.call(MetadataRequest, MetadataRequest(version=version, topics=[]), version)
                finally:
                    client.close()
            except (OSError, TimeoutError, EOFError, ProtocolError, NoCommonVersion) as error:
                log.debug("broker %d does not say which brokers are live: %s", broker.id, error or type(error).__name__)
            else:
                nodes = [node for node in answer.brokers if node.node_id not in servers]
                found = live_brokers(self._remembered, nodes, self._links.endpoint(broker))
                if found:
                    self._remembered.update(found)
                    return found
        return dict(self._remembered)


def live_brokers(known: Mapping[int, Broker], nodes: Sequence[_Node], at: Endpoint) -> dict[int, Broker]:
    """`at`: the endpoint that was asked, since a broker names the others by the addresses of the same listener."""
    found = {}
    for node in nodes:
        here = replace(at, host=node.host, port=node.port)
        before = known.get(node.node_id)
        others = () if before is None else tuple([one for one in before.endpoints if one.listener != at.listener])
        same = before is not None and here in before.endpoints
        epoch = -1 if before is None else before.epoch
        found[node.node_id] = before if before and same else Broker(node.node_id, epoch, (here, *others), node.rack)
    return found
