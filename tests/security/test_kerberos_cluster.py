"""A stock cluster that knows its members by Kerberos: ZooKeeper and brokers take tickets, and our server has one too.

Only where there is a KDC, see `conftest.py`.
"""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import QUICK_START, EmbeddedZooKeeper
from kafka_reassign_rpc.security.login.jaas import JaasEntry
from kafka_reassign_rpc.security.login.zookeeper_login import zookeeper_login
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.access import Access
from kafka_reassign_rpc.zookeeper.access import secured as acl_of
from kafka_reassign_rpc.zookeeper.operations import AclEntry
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import batch
from tests.fork_server import KAFKA_REASSIGN, output_of
from tests.mixed_clusters.mixed_cluster import controller
from tests.processes import processes
from tests.security.realm import kerberos_realm
from tests.stock.cluster import StockCluster
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.node_jvm import JVM
from tests.waiting import eventually

pytestmark = [
    pytest.mark.stock,
    pytest.mark.release,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(600),
]

MODULE = "com.sun.security.auth.module.Krb5LoginModule"
NAMES = {
    "authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
    "kerberos.removeHostFromPrincipal": "true",
    "kerberos.removeRealmFromPrincipal": "true",
}
"""Settings of ZooKeeper: whoever is `kafka/host@REALM` is `kafka` in its ACLs, on whichever host."""


class Site(NamedTuple):
    """
    realm      of Kerberos
    kafka      who brokers, our server and its clients are
    logins     the file of logins that they share
    jvm        options of the JVMs
    """

    realm: Any
    kafka: JaasEntry
    logins: Path
    jvm: tuple[str, ...]

    @property
    def directory(self) -> Path:
        return self.logins.parent


def keytab(realm: Any, service: str) -> JaasEntry:
    """The entry of a service on this host, with a new key of it in the realm's keytab for clients."""
    principal = f"{service}/localhost@{realm.realm}"
    realm.addprinc(principal)
    realm.extract_keytab(principal, realm.client_keytab)
    options = {"useKeyTab": "true", "storeKey": "true", "keyTab": realm.client_keytab, "principal": principal}
    return JaasEntry(MODULE, options)


def text_of(entry: JaasEntry) -> str:
    return " ".join((entry.module, "required", *(f'{key}="{value}"' for key, value in entry.options.items()))) + ";"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    logins = tmp_path_factory.mktemp("kerberos") / "jaas.conf"
    with kerberos_realm() as realm:
        zookeeper, kafka = keytab(realm, "zookeeper"), keytab(realm, "kafka")
        sections = {"Server": zookeeper, "Client": kafka, "KafkaServer": kafka}
        logins.write_text("".join(f"{name} {{ {text_of(entry)} }};\n" for name, entry in sections.items()))
        config = f"-Djava.security.krb5.conf={realm.env['KRB5_CONFIG']}"
        yield Site(realm, kafka, logins, (f"-Djava.security.auth.login.config={logins}", config))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def zookeeper(site: Site) -> AsyncIterator[str]:
    """Where it is."""
    async with EmbeddedZooKeeper(site.directory / "zookeeper", jvm=(*QUICK_START, *site.jvm), settings=NAMES) as made:
        yield f"localhost:{made.address.rpartition(':')[2]}"


def as_kafka(site: Site) -> Access:
    return Access(sasl=zookeeper_login(site.kafka, "Client"), acl_of=acl_of)


def properties_of_brokers() -> dict[str, str]:
    return {
        "listeners": "INTERNAL://localhost:0",
        "listener.security.protocol.map": "INTERNAL:SASL_PLAINTEXT",
        "inter.broker.listener.name": "INTERNAL",
        "sasl.mechanism.inter.broker.protocol": "GSSAPI",
        "sasl.enabled.mechanisms": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "zookeeper.set.acl": "true",
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:kafka",
    }


@asynccontextmanager
async def brokers(site: Site, zk: ZooKeeper, zookeeper: str) -> AsyncIterator[None]:
    """Two stock brokers, one of which is the controller, until the end of the block."""
    require(BROKER_VERSION)
    stock = StockCluster(f"{zookeeper}/kafka", site.directory, (1, 2), overrides=properties_of_brokers())
    for broker in stock.brokers.values():
        broker.jvm = (*JVM, *site.jvm)
    try:
        await stock.start()
        for broker in stock.brokers.values():
            registered = json.loads((await zk.get(znode_paths.broker(broker.id)))[0])
            broker.properties["listeners"] = ",".join(registered["endpoints"])
        yield
    finally:
        await stock.kill()


def command_config(site: Site) -> Path:
    path = site.directory / "client.properties"
    path.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\nsasl.kerberos.service.name=kafka\n"
        f"sasl.jaas.config={text_of(site.kafka)}\n"
    )
    return path


async def test_sv_5_zookeeper_takes_our_ticket_and_znodes_belong_to_its_owner(site: Site, zookeeper: str) -> None:
    """The keytab has two principals, and the user who runs the tests has a ticket of a third one."""
    async with ZooKeeper(f"{zookeeper}/a", access=as_kafka(site)) as zk:
        await zk.ensure_path("/brokers/topics/t")
        assert await zk.acl("/brokers/topics/t") == [AclEntry(31, "sasl", "kafka"), AclEntry(1, "world", "anyone")]


async def test_sv_5_moves_are_carried_out_where_brokers_clients_and_zookeeper_log_in_by_kerberos(
    site: Site, zookeeper: str
) -> None:
    async with AsyncExitStack() as stack:
        zk = await stack.enter_async_context(ZooKeeper(f"{zookeeper}/kafka", access=as_kafka(site)))
        await zk.ensure_path("/")
        await stack.enter_async_context(brokers(site, zk, zookeeper))
        group = await stack.enter_async_context(processes(site.directory))
        server = await group.start(
            *("server", "serve", "--kafka-config", str(site.directory / "1" / "server.properties")),
            *("--java-security-auth-login-config", str(site.logins)),
            *("--listeners", "INTERNAL://localhost:0", "--zookeeper-session-timeout-ms", "10000"),
            *("--event-log-dir", str(site.directory / "events")),
        )
        assert await controller(zk) == 1000
        await zk.create(znode_paths.topic("t"), b'{"version":2,"partitions":{"0":[1],"1":[2]}}')
        await eventually(lambda: zk.exists(znode_paths.partition_state("t", 1)), within=60)
        plan = site.directory / "plan.json"
        plan.write_bytes(batch({("t", 0): (2,), ("t", 1): (1,)}))
        ours = server.ready_value("bootstrap").replace("127.0.0.1", "localhost")
        command = ["--bootstrap-server", ours, "--command-config", str(command_config(site))]
        done = await output_of(KAFKA_REASSIGN, [*command, "--reassignment-json-file", str(plan), "--execute"])
        assert (done.code, "Successfully started" in done.out) == (0, True), done

        async def moved() -> bool:
            found = json.loads((await zk.get(znode_paths.topic("t")))[0])["partitions"]
            return bool(found == {"0": [2], "1": [1]})

        await eventually(moved, within=120)
        assert "does not take this server" not in server.log
        events = "".join(path.read_text() for path in (site.directory / "events").glob("events-*.jsonl"))
        assert '"principal":"User:kafka"' in events
        assert '"mechanism":"GSSAPI"' in events
        assert await server.stop() == 0
