"""Asks each registered broker once what it is: its API versions.

The survey asks for as long as the server runs, as controller and as standby. Each registration is asked on a connection
of its own, so that a broker that is slow or silent delays nothing: until it has answered, what is built in holds. A
broker can change its answers only by a restart, which registers it anew. All of this is soft state.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping

import msgspec

from kafka_reassign_rpc.controller_channel.broker_client import RpcClient
from kafka_reassign_rpc.core.announced_versions import Versions
from kafka_reassign_rpc.core.state.cluster import Broker
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.versions import NEWEST_IN_ZOOKEEPER_MODE, SUPPORTED
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.tasks import end

log = logging.getLogger(__name__)

ANSWER_TIMEOUT_S = 30.0
"""Kafka's controller.socket.timeout.ms."""
FIRST_BACKOFF_S = 0.1
LONGEST_BACKOFF_S = 30.0


class BrokerFacts(msgspec.Struct, frozen=True):
    """What one registration of a broker has answered. `versions`: of the APIs in `protocol.versions.SUPPORTED`."""

    versions: Versions


class BrokerSurvey:
    """`look` tells it the registered brokers; `versions` has what is known of them.

    listener    the name of the brokers' listener to connect to; None: the first of each broker
    """

    def __init__(self, client_id: str, listener: str | None) -> None:
        self._client_id = client_id
        self._listener = listener
        self._asked: dict[int, tuple[Broker, asyncio.Task[None]]] = {}
        self._facts: dict[int, BrokerFacts] = {}
        self._has_looked = False
        self.revision = 0
        """Changes with everything that the survey knows."""

    @property
    def brokers(self) -> Iterable[int]:
        """The ids of the registered brokers."""
        return self._asked.keys()

    def versions(self) -> Iterable[Versions]:
        """The API versions of the registered brokers, each set of versions once.

        A broker that has not answered yet counts as the newest that can be registered in ZooKeeper. Before the first
        look there may be such brokers.
        """
        found = {id(facts.versions): facts.versions for facts in self._facts.values()}
        if len(self._facts) < len(self._asked) or not self._has_looked:
            found[0] = NEWEST_IN_ZOOKEEPER_MODE
        return found.values()

    def look(self, brokers: Mapping[int, Broker]) -> None:
        """These brokers are registered, and no others."""
        if not self._has_looked:
            self._has_looked = True
            self.revision += 1
        for id_, (broker, task) in list(self._asked.items()):
            if brokers.get(id_) != broker:
                task.cancel()
                del self._asked[id_]
                self._facts.pop(id_, None)
                self.revision += 1
        for id_, broker in brokers.items():
            if id_ not in self._asked:
                self._asked[id_] = broker, asyncio.create_task(self._ask(broker), name=f"survey-{id_}")
                self.revision += 1

    async def close(self) -> None:
        asked, self._asked = self._asked, {}
        await end(*(task for _, task in asked.values()))

    async def _ask(self, broker: Broker) -> None:
        """Until the broker has answered."""
        backoff = Backoff(FIRST_BACKOFF_S, LONGEST_BACKOFF_S)
        while True:
            defect = False
            try:
                endpoint = broker.endpoint(self._listener)
                client = await RpcClient.open(endpoint.host, endpoint.port, self._client_id, ANSWER_TIMEOUT_S)
                try:
                    self._learnt(broker, await client.versions())
                finally:
                    client.close()
            except (OSError, TimeoutError, EOFError, ProtocolError) as error:
                log.debug("broker %d does not say what it is: %s", broker.id, error or type(error).__name__)
            except Exception:
                log.exception("a defect while broker %d was asked what it is", broker.id)
                defect = True
            else:
                return
            await backoff.sleep(longest=defect)

    def _learnt(self, broker: Broker, answered: Versions) -> None:
        versions = {key: found for key, found in answered.items() if key in SUPPORTED}
        same = (facts.versions for facts in self._facts.values() if facts.versions == versions)
        self._facts[broker.id] = BrokerFacts(next(same, versions))
        self.revision += 1
