"""A real ZooKeeper over TLS, by Kafka's settings: whom it takes a client for, and what clients do not trust."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper.access import zookeeper_access
from kafka_reassign_rpc.zookeeper.operations import AclEntry
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NotSent
from tests.certificates import PASSWORD, Authority, Issued
from tests.stock.ports import kept_ports

pytestmark = pytest.mark.asyncio(loop_scope="module")

MINE = AclEntry(31, "x509", "O=Acme\\, Inc.,CN=kafka")


class Server(NamedTuple):
    """`address`: of its port for TLS. `trust`: settings that trust it."""

    address: str
    ca: Authority
    trust: dict[str, str]


def settings(store: dict[str, str]) -> dict[str, str]:
    return {f"zookeeper.{name}": value for name, value in store.items()}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    directory = tmp_path_factory.mktemp("tls")
    ca = Authority("CN=ca")
    trust = ca.pem_truststore(directory / "ca.pem")
    ca.issue("CN=zookeeper").pkcs12_keystore(directory / "server.p12", "plain")
    [port] = kept_ports(1)
    lines = {
        "secureClientPort": str(port),
        "secureClientPortAddress": "127.0.0.1",
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "authProvider.x509": "org.apache.zookeeper.server.auth.X509AuthenticationProvider",
        "ssl.keyStore.location": str(directory / "server.p12"),
        "ssl.keyStore.password": "plain",
        "ssl.trustStore.location": trust["ssl.truststore.location"],
        "ssl.clientAuth": "want",
    }
    async with EmbeddedZooKeeper(directory / "data", heap_mb=128, settings=lines):
        values = {"zookeeper.ssl.client.enable": "true", **settings(trust)}
        yield Server(f"127.0.0.1:{port}", ca, values)


def issued(server: Server) -> Issued:
    return server.ca.issue("O=Acme\\, Inc.,CN=kafka")


@pytest.mark.parametrize("kind", ["PEM", "PKCS12"])
async def test_sv_5_a_client_with_a_certificate_owns_its_znodes(server: Server, tmp_path: Path, kind: str) -> None:
    own = issued(server)
    store = own.pkcs12_keystore(tmp_path / "own.p12")
    if kind == "PEM":
        path = tmp_path / "own.pem"
        own.pem_keystore(path, "of the key")
        # ZooKeeper calls the password of a key in PEM the keystore's.
        store = {"ssl.keystore.location": str(path), "ssl.keystore.password": "of the key"}
    access = zookeeper_access({**server.trust, **settings(store), "zookeeper.set.acl": "true"})
    async with ZooKeeper(server.address, access=access) as client:
        path_of = f"/{kind}"
        await client.create(path_of)
        assert await client.acl(path_of) == [MINE, AclEntry(1, "world", "anyone")]
        assert ("x509", MINE.id) in await client.who_am_i()


async def test_sv_5_a_client_without_a_certificate_is_world_anyone(server: Server) -> None:
    async with ZooKeeper(server.address, access=zookeeper_access(server.trust)) as client:
        await client.create("/open")
        assert await client.acl("/open") == [AclEntry(31, "world", "anyone")]


async def test_sv_5_a_zookeeper_that_is_not_trusted_gets_nothing_and_is_named(server: Server, tmp_path: Path) -> None:
    strange = settings(Authority("CN=other").pem_truststore(tmp_path / "other.pem"))
    for values, text in (
        ({**server.trust, **strange}, "certificate verify failed"),
        ({}, "closed during the handshake"),
    ):
        client = ZooKeeper(server.address, access=zookeeper_access(values))
        with pytest.raises(NotSent) as refused:
            await client.start(3)
        assert server.address in str(refused.value)
        assert text in str(refused.value)
        assert PASSWORD not in str(refused.value)


async def test_sv_5_a_new_certificate_is_that_of_the_next_connection(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "own.pem"
    store = settings(issued(server).pem_keystore(path))
    access = zookeeper_access({**server.trust, **store})
    assert access.tls is not None
    async with ZooKeeper(server.address, access=access) as client:
        assert ("x509", MINE.id) in await client.who_am_i()
        server.ca.issue("CN=renewed").pem_keystore(path)
        assert await access.tls.check()
        assert ("x509", MINE.id) in await client.who_am_i(), "an open connection keeps its certificate"
    async with ZooKeeper(server.address, access=access) as client:
        assert ("x509", "CN=renewed") in await client.who_am_i()
        path.write_text("garbage")
        assert not await access.tls.check()
    async with ZooKeeper(server.address, access=access) as client:
        assert ("x509", "CN=renewed") in await client.who_am_i(), "what cannot be used changes nothing"
