"""What a server that is not the controller knows: the controller, the live brokers and, on request, topics.

It must not show two topics by one id: clients fetch by id, and would get the records of the other one.

While a KRaft controller controls the brokers, in a migration, they restart in KRaft mode from its step 5 on, and no
longer register in ZooKeeper. So a server remembers where it has seen brokers, and asks one of them which are live, as
long as `/controller` is the KRaft controller's.
"""

import asyncio
import logging
import random
from collections.abc import Collection, Generator, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from msgspec.structs import replace

from kafka_reassign_rpc.api.ports import NodeEndpoint
from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.loading import load_cluster, load_topics
from kafka_reassign_rpc.controller.loading.load_topics import children
from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint, endpoint_for
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.topics import duplicate_topic_ids
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import MetadataRequest
from kafka_reassign_rpc.support.turns import Pace, Turn, in_turns
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.transport.rpc_client import NoCommonVersion
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

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


class StandbyIds:
    """The ids of all topics are read once, and later those of topics that have appeared. Methods raise ZkError."""

    def __init__(self, zk: ZooKeeper) -> None:
        self._zk = zk
        self._ids: dict[str, UUID | None] = {}
        """By topic; None for one that has no id of its own."""
        self._holders: dict[UUID, str] = {}
        self._read_at: tuple[int, int] | None = None
        """When the names of all topics were read: czxid and cversion of their parent."""
        self._reading = asyncio.Lock()

    async def with_own(self, found: Mapping[str, Topic]) -> Mapping[str, Topic]:
        """A topic that has the id of one that had it first is shown by the id that it had itself before. If none is
        known it is left out, as by a controller."""
        if not found:
            return found
        await self._learn()
        holders = {self._holders[one.id] for one in found.values() if one.id in self._holders}
        others = await load_topics.read_ids(self._zk, holders - found.keys())
        return await in_turns(self._judged(found, others), turn=Turn())

    async def _learn(self) -> None:
        async with self._reading:
            stat = await self._zk.exists(znode_paths.TOPICS)
            now = None if stat is None else (stat.czxid, stat.cversion)
            if now == self._read_at:
                return
            names = set(await children(self._zk, znode_paths.TOPICS))
            for gone in self._ids.keys() - names:
                self._set(gone, None)
                del self._ids[gone]
            new = await load_topics.read_ids(self._zk, names - self._ids.keys())
            twins = await in_turns(duplicate_topic_ids.find(new, {}), turn=Turn())
            pace = Pace()
            for topic in new:
                is_first = topic.name not in twins and topic.id not in self._holders
                self._set(topic.name, topic.id if is_first else None)
                await pace.rest()
            self._read_at = now

    def _judged(self, found: Mapping[str, Topic], others: Sequence[Topic]) -> Generator[None, None, dict[str, Topic]]:
        twins = yield from duplicate_topic_ids.find((*found.values(), *others), self._holders)
        for name, topic in found.items():
            if name not in twins:
                self._set(name, topic.id)
            yield
        shown: dict[str, Topic] = {}
        for name, topic in found.items():
            own = self._ids.get(name)
            if name not in twins:
                shown[name] = topic
            elif own is not None and self._holders.get(own) == name:
                shown[name] = replace(topic, id=own)
            yield
        return shown

    def _set(self, name: str, topic_id: UUID | None) -> None:
        before = self._ids.get(name)
        if before is not None and self._holders.get(before) == name:
            del self._holders[before]
        self._ids[name] = topic_id
        if topic_id is not None:
            self._holders[topic_id] = name


class Known(Protocol):
    @property
    def brokers(self) -> Mapping[int, Broker]: ...

    @property
    def topics(self) -> Mapping[str, Topic]: ...


class Standby:
    """The supervisor calls `refresh` whenever the controller or the brokers change, and `remember` at each term.

    What a term knew last holds until ZooKeeper has been read again, as brokers keep what they know: on an empty list of
    brokers a client drops all that it knew, and librdkafka then never finds one again.
    """

    def __init__(self, zk: ZooKeeper, kraft: KRaftBrokers) -> None:
        self._zk = zk
        self._kraft = kraft
        self._owner: controller_election.ControllerOwner | None = None
        self._brokers: Mapping[int, Broker] = {}
        self._term: Known | None = None
        self._ids = StandbyIds(zk)
        self.is_kept_out = False
        """This server must not control the brokers as they are: the supervisor says so."""

    async def refresh(self) -> controller_election.ControllerOwner | None:
        seen = self.brokers
        registered = await load_cluster.read_brokers(self._zk, watch=True)
        self._owner = await controller_election.owner(self._zk, watch=True)
        if self._owner is not None and self._owner.kraft_epoch is not None:
            self._brokers, self._term = self._kraft.remember({**seen, **registered}), None
            servers = await load_cluster.read_servers(self._zk)
            self._brokers = {**await self._kraft.live(servers), **registered}
        else:
            self._kraft.forget()
            self._brokers, self._term = registered, None
        return self._owner

    @property
    def again_s(self) -> float | None:
        """After this many seconds `refresh` may find something else, although no watch fires."""
        return None if self._owner is None or self._owner.kraft_epoch is None else AGAIN_S

    def remember(self, term: Known) -> None:
        self._term = term

    @property
    def brokers(self) -> Mapping[int, Broker]:
        return self._brokers if self._term is None else self._term.brokers or self._brokers

    def forget(self) -> None:
        self._owner = None

    def controller_id(self) -> int | None:
        return None if self._owner is None else self._owner.id

    def named_to_clients(self) -> int | None:
        """In place of a KRaft controller, which clients cannot reach, it is a live broker, as brokers name one
        (KafkaApis, getRandomAliveBrokerId): that forwards what it is asked."""
        if self._owner is None or self._owner.kraft_epoch is None:
            return self.controller_id()
        return random.choice([*self.brokers] or [None])  # noqa: S311 (no secret)

    def controller_since(self) -> int | None:
        """In ms; None if unknown."""
        return None if self._owner is None else self._owner.since_ms

    def controller_node(self, listener: str, security_protocol: str = "") -> Sequence[NodeEndpoint]:
        """The controller if it is a server of this product: then no broker has its id."""
        if self._owner is None or self._owner.id is None or self._owner.id in self.brokers or not self._owner.endpoints:
            return ()
        chosen = endpoint_for(self._owner.endpoints, listener, security_protocol)
        return (NodeEndpoint(self._owner.id, chosen.host, chosen.port),)

    async def topics(self, names: Collection[str] | None) -> Mapping[str, Topic]:
        """While ZooKeeper does not answer, as the last term knew them. Raises BrokerNotAvailable if there was none."""
        try:
            return await self._ids.with_own((await load_topics.read_topics(self._zk, names)).found)
        except ZkError as error:
            known = {} if self._term is None else self._term.topics
            if not known:
                raise BrokerNotAvailable(f"ZooKeeper cannot be asked: {error}") from error
            return known if names is None else {name: known[name] for name in names if name in known}
