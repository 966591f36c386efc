"""Stock brokers in KRaft mode with an authorizer: one cluster of three for most tests of a process."""

import asyncio
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from confluent_kafka import Producer
from kafka import KafkaAdminClient

from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError
from kafka_reassign_rpc.client.config_calls import BROKER
from tests.kraft.losing_proxy import LosingProxy
from tests.kraft.state_log.proxies import LISTENER, add_listener
from tests.stock.kraft import VERSION, KRaftNode, kraft_cluster, start_all
from tests.stock.ports import kept_ports
from tests.waiting import eventually

NAMED = os.environ.get("KAFKA_RELEASE")
RELEASE = NAMED or VERSION
"""Of the brokers in this room: the variable KAFKA_RELEASE names another one, which needs a pom in tests/stock/poms."""
BROKERS = (1, 2, 3)
SIDES = ("leader", "follower")
USERS = ("admin", "guest")
SCRAM, SCRAM_USER = "SCRAM-SHA-256", "scrammed"
"""Whoever gives this user a password may log in as one who may do all."""
_LOGINS = " ".join(f'user_{one}="{one}-secret"' for one in USERS)
CONFIGS = {
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "500",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:ANONYMOUS;User:admin;User:{SCRAM_USER}",
    "sasl.enabled.mechanisms": f"PLAIN,{SCRAM}",
    "listener.name.secured.plain.sasl.jaas.config": (
        f"org.apache.kafka.common.security.plain.PlainLoginModule required {_LOGINS};"
    ),
    f"listener.name.secured.{SCRAM.lower()}.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
}


def login_of(user: str, mechanism: str = "PLAIN") -> dict[str, Any]:
    """As configs of a client."""
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": f"{user}-secret",
    }


class StockCluster:
    """By three listeners: PLAINTEXT, as somebody who may do all; SECURED, where `guest` has no right; and LOSSY, where
    broker 1 is reached through `proxy` (which is no part of the cluster: a test starts it).

    controllers   further nodes, voters beside node 1, which are no brokers
    """

    def __init__(
        self,
        folder: Path,
        version: str = RELEASE,
        brokers: Sequence[int] = BROKERS,
        controllers: Sequence[int] = (),
    ) -> None:
        self.version = version
        self.release = tuple(map(int, version.split(".")[:2]))
        self._numbers = itertools.count(1)
        self.made: set[str] = set()
        made = kraft_cluster(
            folder,
            brokers,
            {one: {**CONFIGS, "broker.rack": f"r{one}"} for one in (*brokers, *controllers)},
            controllers=(1, *controllers),
            version=version,
        )
        self.controllers_alone = [one for one in made if one.id in controllers]
        nodes = [one for one in made if one.id in brokers]
        self.proxied = [add_listener(nodes, f"{LISTENER}{number}") for number in range(2)]
        """Of two more listeners, which are reached through proxies: a proxy's port, and the one behind it."""
        self.nodes: Mapping[int, KRaftNode] = {one.id: one for one in nodes}
        self.secured = dict(zip(brokers, kept_ports(len(brokers)), strict=True))
        lossy = dict(zip(brokers, kept_ports(len(brokers)), strict=True))
        self._proxies = kept_ports(1)
        self._lossy = lossy[1]
        for one, node in self.nodes.items():
            more = {"SECURED": self.secured[one], "LOSSY": lossy[one]}
            theirs = "".join(f",{name}://127.0.0.1:{port}" for name, port in more.items())
            node.properties["listeners"] += theirs
            node.properties["listener.security.protocol.map"] += ",SECURED:SASL_PLAINTEXT,LOSSY:PLAINTEXT"
            advertised = {**more, "LOSSY": self._proxies[0]}
            node.properties["advertised.listeners"] += "".join(
                f",{name}://127.0.0.1:{port}" for name, port in advertised.items()
            )

    @contextmanager
    def running(self) -> Iterator[Self]:
        try:
            self.start()
            yield self
        finally:
            self.stop()

    def start(self) -> None:
        """Blocks."""

        async def start() -> None:
            await asyncio.gather(*(one.start() for one in self.controllers_alone), start_all([*self.nodes.values()]))

        asyncio.run(start())

    def stop(self) -> None:
        async def kill() -> None:
            await asyncio.gather(*(one.kill() for one in (*self.controllers_alone, *self.nodes.values())))

        asyncio.run(kill())

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{one.port}" for one in self.nodes.values())

    @property
    def controllers(self) -> str:
        return self.nodes[1].controller

    @property
    def addresses(self) -> Mapping[int, tuple[str, int]]:
        return {one: ("127.0.0.1", node.port) for one, node in self.nodes.items()}

    def losing(self) -> LosingProxy:
        """All brokers have its address by the listener LOSSY."""
        return LosingProxy(self._proxies[0], self._lossy)

    async def create(
        self, topics: Mapping[str, Sequence[Sequence[int]]], *, records: int = 0, slow: bool = False
    ) -> list[str]:
        """Topics with the replicas of each partition, and as many records of 1 kB in each. `slow`: whatever replicas of
        them move, they copy no more than 16 kB. Returns their names, which begin so: a second attempt of a test gets
        others.
        """
        made = {f"{name}-{next(self._numbers)}": some for name, some in topics.items()}
        self.made |= made.keys()
        configs = {f"{side}.replication.throttled.replicas": "*" for side in SIDES} if slow else {}
        if slow:
            await self._slow_down()
        await asyncio.to_thread(self._create, made, records, configs)
        return list(made)

    def _create(self, topics: Mapping[str, Sequence[Sequence[int]]], records: int, configs: Mapping[str, str]) -> None:
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            wanted = {
                name: {"assignments": dict(enumerate(map(list, some))), "configs": dict(configs)}
                for name, some in topics.items()
            }
            admin.create_topics(wanted, wait_for_metadata=True)
        finally:
            admin.close()
        if not records:
            return
        producer = Producer({"bootstrap.servers": self.bootstrap, "acks": 1, "log_level": 0, "batch.size": 4_096})
        for name, some in topics.items():
            for index in range(len(some)):
                for _ in range(records):
                    producer.produce(name, bytes(1_000), partition=index)
        assert not producer.flush(60)

    async def delete(self, topic: str) -> None:
        def delete() -> None:
            admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
            try:
                admin.delete_topics([topic])
            finally:
                admin.close()

        await asyncio.to_thread(delete)

    def client(self) -> AsyncReassignmentClient:
        return AsyncReassignmentClient(bootstrap_servers=self.bootstrap)

    async def _slow_down(self) -> None:
        rates = {f"{side}.replication.throttled.rate": "1" for side in SIDES}
        async with self.client() as client:
            done = await client.change_configs({(BROKER, str(one)): rates for one in BROKERS})
            assert not any(done.values()), done

            async def is_known() -> bool:
                told = await client.describe_broker_configs(BROKERS)
                return all(
                    not isinstance(some, KafkaError) and {"1"} <= {one.value for one in some if one.name in rates}
                    for some in told.values()
                )

            await eventually(is_known)
