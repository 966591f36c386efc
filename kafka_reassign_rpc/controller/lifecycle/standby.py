"""What a server that is not the controller knows: the controller, the live brokers and, on request, topics."""

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from kafka_reassign_rpc.api.ports import NodeEndpoint
from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.lifecycle.kraft_brokers import AGAIN_S, KRaftBrokers
from kafka_reassign_rpc.controller.lifecycle.standby_ids import StandbyIds
from kafka_reassign_rpc.controller.loading import load_cluster, load_topics
from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable
from kafka_reassign_rpc.core.state.broker import Broker, endpoint_for
from kafka_reassign_rpc.core.state.topic import Topic
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError


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
