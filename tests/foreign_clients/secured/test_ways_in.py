"""Each client by each way in: it comes in with right credentials, and with others it says why it does not.

The server has a listener for each security protocol, ZooKeeper for SCRAM, a file of hashed users for PLAIN, and a JWKS.
One user is taken away while the server runs.
"""

import gc
import json
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from joserfc.jwk import KeySet, RSAKey

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.core.quotas.client_quotas import USER
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.security.sasl.hashed_users import hashed_line
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import QuotaStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.certificates import Authority
from tests.processes import Process, processes
from tests.security.sasl_steps import as_config, scram_credential
from tests.stock.jars import TOOL_VERSIONS, require
from tests.stock.tools import Tools
from tests.waiting import eventually

from .drivers import by_franz_go, by_kafka_python, by_kafkajs, by_librdkafka, by_our_client, by_tools
from .ways import (
    EXPIRED,
    GONE,
    MECHANISMS,
    NONE,
    PASSWORDS,
    PRESENT,
    PROTOCOLS,
    RIGHT,
    SCRAM,
    SECRET,
    UNTRUSTED,
    WRONG,
    Credentials,
    Way,
    ways,
)

pytestmark = [
    pytest.mark.gate,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]

CHROOT = "/ways-in"
CLIENTS = {"kafkajs": by_kafkajs, "franz-go": by_franz_go, "kafka-python": by_kafka_python, "librdkafka": by_librdkafka}


class Served:
    """A running server, and all ways to it."""

    def __init__(self, directory: Path, process: Process, found: Sequence[Way]) -> None:
        self.directory = directory
        self.process = process
        self.ways = found


def server_properties(directory: Path, ca: Authority, key: RSAKey) -> dict[str, str]:
    jwks = directory / "keys.json"
    jwks.write_text(json.dumps(KeySet([key]).as_dict(private=False)))
    return {
        **ca.issue("CN=server").pem_keystore(directory / "server.pem"),
        **ca.pem_truststore(directory / "ca.pem"),
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in PROTOCOLS),
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.name.ssl.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": ",".join((*PASSWORDS, "OAUTHBEARER")),
        "sasl.oauthbearer.jwks.endpoint.url": jwks.as_uri(),
    }


def write_users(directory: Path, *names: str) -> None:
    lines = "".join(f'{name} = "{hashed_line(SECRET, 4096)}"\n' for name in names)
    (directory / "new-users.toml").write_text(lines)
    (directory / "new-users.toml").replace(directory / "users.toml")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(zookeeper: EmbeddedZooKeeper, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    directory = tmp_path_factory.mktemp("ways-in")
    ca, key = Authority("CN=ca"), RSAKey.generate_key(2048, {"kid": "rsa"})
    path = directory / "server.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in server_properties(directory, ca, key).items()))
    write_users(directory, PRESENT, GONE)
    async with ZooKeeper(zookeeper.address) as outside:
        await outside.ensure_path(f"{CHROOT}{znode_paths.config_type('users')}")
    async with ZooKeeper(zookeeper.address + CHROOT) as zk, processes(directory) as group:
        for user in (PRESENT, GONE):
            configs = {name: as_config(scram_credential(name, SECRET)) for name in SCRAM}
            await QuotaStore(zk).alter(((USER, user),), lambda _, configs=configs: configs)  # type: ignore[misc]
        process = await group.start(
            "server", "serve", "--zookeeper-connect", zookeeper.address + CHROOT, "--kafka-config", str(path),
            "--kafka-config-listeners", "true", "--sasl-plain-users-file", str(directory / "users.toml"),
            "--event-log-dir", str(directory / "events"), "--log-level", "DEBUG",
        )  # fmt: skip
        owner = await controller_election.owner(zk)
        assert owner is not None
        addresses = {one.listener: f"{one.host}:{one.port}" for one in owner.endpoints}
        found = list(ways(addresses, Credentials(directory, ca, key)))
        revoked = [way for way in found if way.user == GONE]
        assert await by_our_client(revoked, directory) == [""] * len(revoked)
        write_users(directory, PRESENT)
        await QuotaStore(zk).alter(((USER, GONE),), lambda _: {})

        async def is_gone() -> bool:
            return all(await by_our_client(revoked, directory))

        await eventually(is_gone)
        yield Served(directory, process, found)


TLS_REFUSED: Mapping[str, Mapping[str, str]] = {
    "java": {
        NONE: "received fatal alert: ",
        WRONG: "received fatal alert: ",
        EXPIRED: "received fatal alert: ",
        UNTRUSTED: "pkix path",
    },
    "ours": {
        NONE: "it refuses this client: certificate required",
        WRONG: "it refuses this client: ",
        EXPIRED: "it refuses this client: certificate expired",
        UNTRUSTED: "its certificate is refused: unable to get local issuer certificate",
    },
    "kafkajs": {
        NONE: "alert certificate required",
        WRONG: "alert ",
        EXPIRED: "alert certificate expired",
        UNTRUSTED: "unable to verify the first certificate",
    },
    "franz-go": {
        NONE: "remote error: tls: certificate required",
        WRONG: "remote error: tls: ",
        EXPIRED: "remote error: tls: expired certificate",
        UNTRUSTED: "certificate signed by unknown authority",
    },
    "kafka-python": {
        NONE: "alert certificate required",
        WRONG: "alert ",
        EXPIRED: "alert certificate expired",
        UNTRUSTED: "unable to get local issuer certificate",
    },
    "librdkafka": {
        NONE: "alert certificate required",
        WRONG: "alert ",
        EXPIRED: "alert certificate expired",
        UNTRUSTED: "broker certificate could not be verified",
    },
}
"""What clients say where TLS fails, by client and by what is wrong with the certificates; in small letters."""

INSTEAD: Mapping[tuple[str, str], Sequence[str]] = {
    ("kafkajs", "OAUTHBEARER"): ("closed connection", "read econnreset"),
    ("franz-go", "OAUTHBEARER"): ("unexpected data in oauth response",),
    **{("kafka-python", mechanism): ("unable to bootstrap",) for mechanism in MECHANISMS},
}
"""By client and mechanism, where the client does not show what the server says. The first two do not know that a
refused token is answered with a challenge (RFC 7628). kafkajs goes on with requests, the last one while the server
closes: it finds the end of the connection, or its reset. kafka-python drops an answer behind which the connection
ends."""


def expected(client: str, way: Way) -> Sequence[str]:
    """What a client that does not come in has to say, in small letters: one of these is a part of it."""
    if not way.mechanism or way.state == UNTRUSTED:
        return (TLS_REFUSED[client][way.state],)
    return INSTEAD.get((client, way.mechanism), (way.server_says.lower(),))


def differences(client: str, asked: Sequence[Way], said: Sequence[str]) -> list[str]:
    """The ways on which a client has not come in, or has, or said something else."""
    return [
        f"{way.name}: {words[-500:] or 'came in'}"
        for way, words in zip(asked, said, strict=True)
        if bool(words) != (way.state != RIGHT)
        or (words and not any(part in words.lower() for part in expected(client, way)))
    ]


async def test_sv_5_our_client_comes_in_by_each_way_and_says_why_not(served: Served) -> None:
    said = await by_our_client(served.ways, served.directory)
    assert differences("ours", served.ways, said) == []
    gc.collect()
    assert [one for one in gc.get_objects() if isinstance(one, ssl.SSLSocket) and one.fileno() >= 0] == []


@pytest.mark.parametrize("client", CLIENTS)
async def test_sv_5_each_client_comes_in_by_each_way_and_says_why_not(served: Served, client: str) -> None:
    said = await CLIENTS[client](served.ways)
    assert differences(client, served.ways, said) == []


@pytest.mark.parametrize("tool", ["reassign-partitions", "topics"])
@pytest.mark.parametrize("version", TOOL_VERSIONS)
async def test_sv_5_the_stock_tools_come_in_by_each_way_and_say_why_not(
    served: Served, version: str, tool: str
) -> None:
    require(version)
    with Tools(version, jvm=allowed_tokens(served)) as tools:
        said = await by_tools(tools, tool, served.ways, served.directory)
    assert differences("java", served.ways, said) == []


def allowed_tokens(served: Served) -> list[str]:
    """The option without which Java clients read no token from a file."""
    files = [way.name.replace(" ", "-") + ".token" for way in served.ways if way.token]
    urls = ",".join((served.directory / name).as_uri() for name in files)
    return [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={urls}"]


async def test_sv_5_the_log_says_who_was_refused_without_secrets(served: Served) -> None:
    """The last test of the file: the log is at level DEBUG, and has seen all of them."""
    written = served.process.log + "".join(path.read_text() for path in served.directory.rglob("*.jsonl"))
    assert "not authenticated" in written
    secrets = {SECRET, "another secret", *(way.token[-40:] for way in served.ways if way.token)}
    assert [secret for secret in secrets if secret in written] == []
