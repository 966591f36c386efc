"""A real ZooKeeper that knows users by DIGEST-MD5: who logs in, and the ACLs of the znodes that he creates."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import QUICK_START, EmbeddedZooKeeper
from kafka_reassign_rpc.security.login.jaas import JaasEntry
from kafka_reassign_rpc.security.login.zookeeper_login import DIGEST_MODULE, zookeeper_login
from kafka_reassign_rpc.zookeeper.access import Access, secured
from kafka_reassign_rpc.zookeeper.operations import AclEntry, Create
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoAuth, NotSent
from tests.zookeeper.helpers import Events
from tests.zookeeper.proxy import Proxy

pytestmark = pytest.mark.asyncio(loop_scope="module")

PASSWORD = 'it\'s, a "sécret" = \\ thing'
MINE = AclEntry(31, "sasl", "kafka")
READ_BY_ALL = AclEntry(1, "world", "anyone")
OPEN = AclEntry(31, "world", "anyone")

SERVER_JAAS = """Server {
  org.apache.zookeeper.server.auth.DigestLoginModule required
  user_kafka="%s"
  user_other="x";
};
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedZooKeeper]:
    directory = tmp_path_factory.mktemp("digest")
    jaas = Path(directory / "jaas.conf")
    jaas.write_text(SERVER_JAAS % PASSWORD.replace("\\", "\\\\").replace('"', '\\"'))
    jvm = (*QUICK_START, f"-Djava.security.auth.login.config={jaas}", "-Dfile.encoding=UTF-8")
    provider = {"authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"}
    async with EmbeddedZooKeeper(directory / "data", heap_mb=128, jvm=jvm, settings=provider) as running:
        yield running


def as_user(name: str, password: str) -> Access:
    entry = JaasEntry(DIGEST_MODULE, {"username": name, "password": password})
    return Access(sasl=zookeeper_login(entry, "Client"), acl_of=secured)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kafka(server: EmbeddedZooKeeper) -> AsyncIterator[ZooKeeper]:
    async with ZooKeeper(f"{server.address}/a/kafka", access=as_user("kafka", PASSWORD)) as client:
        await client.ensure_path("/")
        yield client


async def test_sv_5_each_created_znode_gets_the_acl_that_kafka_gives_its_path(
    server: EmbeddedZooKeeper, kafka: ZooKeeper
) -> None:
    wanted = {
        "/consumers": [OPEN],
        "/consumers/g": [MINE, READ_BY_ALL],
        "/brokers/topics/t": [MINE, READ_BY_ALL],
        "/config": [MINE, READ_BY_ALL],
        "/config/topics/t": [MINE, READ_BY_ALL],
        "/config/users": [MINE],
        "/config/users/alice/clients/c": [MINE],
        "/config/brokers/1": [MINE],
        "/delegation_token": [MINE, READ_BY_ALL],
        "/delegation_token/tokens/x": [MINE],
        "/admin/reassignments/t": [MINE, READ_BY_ALL],
    }
    for path in wanted:
        await kafka.ensure_path(path)
    for path, acl in wanted.items():
        assert await kafka.acl(path) == acl, path

    paths = [f"{path}/made-{number}" for number, path in enumerate(wanted)]
    await kafka.create(paths[0])
    await kafka.multi([Create(path) for path in paths[1:]])
    for path in paths:
        expected = wanted[path.rpartition("/")[0]]
        assert await kafka.acl(path) == ([MINE, READ_BY_ALL] if expected == [OPEN] else expected), path
    async with ZooKeeper(server.address) as nobody:
        assert await nobody.acl("/a") == await nobody.acl("/a/kafka") == [MINE, READ_BY_ALL]


async def test_sv_5_others_read_what_is_no_secret_and_write_nothing(
    server: EmbeddedZooKeeper, kafka: ZooKeeper
) -> None:
    await kafka.create("/shown", b"1")
    await kafka.ensure_path("/config/users")
    for access in (Access(), as_user("other", "x")):
        async with ZooKeeper(kafka.connect, access=access) as other:
            assert (await other.get("/shown"))[0] == b"1"
            for refused in (other.set("/shown", b"3"), other.get("/config/users"), other.create("/shown/child")):
                with pytest.raises(NoAuth):
                    await refused


async def test_sv_5_the_login_is_repeated_on_every_connection(server: EmbeddedZooKeeper, kafka: ZooKeeper) -> None:
    async with Proxy(server.address) as proxy:
        access = as_user("kafka", PASSWORD)
        async with ZooKeeper(f"{proxy.address}/a/kafka", access=access, session_timeout_ms=60_000) as client:
            events = Events(client)
            session = client.session_id
            await client.create("/again", b"1")
            proxy.rst()
            await events.until("connected")
            await client.set("/again", b"2")
            assert client.session_id == session


async def test_sv_5_a_client_learns_whom_zookeeper_takes_it_for(server: EmbeddedZooKeeper, kafka: ZooKeeper) -> None:
    assert await kafka.who_am_i() == {("sasl", "kafka"), ("ip", "127.0.0.1")}
    async with ZooKeeper(server.address) as nobody:
        assert await nobody.who_am_i() == {("ip", "127.0.0.1")}


@pytest.mark.parametrize("name", ["kafka", "nobody"])
async def test_sv_5_a_refused_login_is_said_and_shows_no_password(server: EmbeddedZooKeeper, name: str) -> None:
    client = ZooKeeper(server.address, access=as_user(name, "wrong horse"))
    with pytest.raises(NotSent) as refused:
        await client.start(3)
    assert "authentication failed" in str(refused.value)
    assert "wrong horse" not in repr(refused.value)
