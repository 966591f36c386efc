"""The status page, its API, its stream and the metrics of a `serve` process: for users with passwords, or for clients
with certificates, and for no others.
"""

import base64
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kafka_reassign_rpc.security.sasl.hashed_users import hashed_line
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.status_page.page import ASSETS
from tests.certificates import Authority, Issued
from tests.faults.cluster import address_of, alter, metadata
from tests.http_client import streamed
from tests.processes import processes
from tests.server.test_http_security import basic
from tests.status_page.browser import PROGRAM, Tab, browser
from tests.status_page.documented import EVENTS_OF_STREAM, PATHS, Documented
from tests.waiting import eventually

TOPIC = "secret-topic"
ASKED = {"departure": "departure?brokers=1"}
"""What has to be asked for by name."""
API = tuple(f"/api/v1/{ASKED.get(path, path)}" for path in (*PATHS, "stream"))
EVERY_PATH = ("/", *(f"/static/{name}" for name in ASSETS), "/metrics", "/health", "/ready", *API)
USER, PASSWORD = "operator", "a: päss"


class Reader(NamedTuple):
    """A client of the page: the certificate that it shows, if any, and what it says of user and password."""

    ca: Authority
    folder: Path
    own: Issued | None = None
    authorization: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """For aiohttp's `get`."""
        own = {} if self.own is None else self.own.pkcs12_keystore(self.folder / "reader.p12")
        trust = self.ca.pem_truststore(self.folder / "trust.pem")
        headers = {} if self.authorization is None else {"Authorization": self.authorization}
        return {"ssl": TlsConfig.of({**trust, **own}).load_client().context, "headers": headers}

    async def get(self, url: str) -> tuple[int, bytes]:
        """Status and body; of a stream that is let in, its first bytes."""
        async with aiohttp.ClientSession() as session, session.get(url, **self.options) as answer:
            if answer.status == 401:
                assert answer.headers["WWW-Authenticate"].startswith("Basic ")
            return answer.status, await answer.content.readany()


class Site(NamedTuple):
    """A server whose moves are in flight."""

    address: str
    ca: Authority
    server: Issued
    folder: Path

    def reader(self, own: Issued | None = None, authorization: str | None = None) -> Reader:
        return Reader(self.ca, self.folder, own, authorization)

    async def reads_everything(self, reader: Reader) -> None:
        for path in EVERY_PATH:
            assert (await reader.get(f"https://{self.address}{path}"))[0] == 200, path
        _, body = await reader.get(f"https://{self.address}/api/v1/moves")
        assert [one["topic"] for one in json.loads(body)["moves"]] == [TOPIC]
        documented = Documented(self.address)
        events = await streamed(f"https://{self.address}/api/v1/stream", 2, **reader.options)
        assert [name for name, _ in events] == ["status", "changes"]
        for name, data in events:
            documented.check(EVENTS_OF_STREAM[name], data)
        assert events[0][1]["access"] == "full"


@asynccontextmanager
async def site(zk_connect: str, folder: Path, properties: dict[str, str], *arguments: str) -> AsyncIterator[Site]:
    """A server that speaks HTTPS there, with these settings, and two brokers between which a partition moves slowly."""
    ca = Authority("CN=ca")
    issued = ca.issue("CN=server")
    settings = {**issued.pem_keystore(folder / "server.pem"), **ca.pem_truststore(folder / "ca.pem"), **properties}
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    async with processes(folder) as commands:
        server = await commands.start(
            *("serve", "serve", "--zookeeper-connect", zk_connect, "--listeners", "PLAINTEXT://127.0.0.1:0"),
            *("--kafka-config", str(file), "--metrics-listener", "127.0.0.1:0", "--metrics-security-protocol", "SSL"),
            *("--data-dir", str(folder / "data"), *arguments),
        )
        await commands.start(
            *("fleet", "fleet", "--zookeeper-connect", zk_connect, "--broker-ids", "1,2", "--bandwidth", "1000"),
            *("--topic", f"{TOPIC}:1:1:100M", "--data-dir", str(folder / "fleet")),
        )
        bootstrap = address_of(server.ready_value("bootstrap"))

        async def moves() -> bool:
            (found,) = (await metadata(bootstrap, TOPIC)).topics
            target = 3 - found.partitions[0].leader_id
            return await alter(bootstrap, {(TOPIC, 0): (target,)}) == {(TOPIC, 0): 0}

        await eventually(moves)
        yield Site(server.ready_value("metrics"), ca, issued, folder)


def users_file(folder: Path) -> Path:
    file = folder / "users.toml"
    file.write_text(f'{USER} = "{hashed_line(PASSWORD, 4096)}"\n')
    return file


async def test_sv_5_page_api_stream_and_metrics_are_for_users_with_the_right_password(
    zk_connect: str, tmp_path: Path
) -> None:
    users = str(users_file(tmp_path))
    async with site(zk_connect, tmp_path, {}, "--metrics-users-file", users) as made:
        await made.reads_everything(made.reader(authorization=basic(USER, PASSWORD)))
        documented = Documented(made.address)
        for wrong in (None, basic(USER, "a: pass"), basic("nobody", PASSWORD)):
            stranger = made.reader(authorization=wrong)
            for path in (*EVERY_PATH, "/api/v1/nothing", "/nothing"):
                status, body = await stranger.get(f"https://{made.address}{path}")
                assert status == 401, path
                assert TOPIC.encode() not in body
                if path.startswith("/api/"):
                    documented.check("Problem", json.loads(body))


async def test_sv_5_page_api_stream_and_metrics_are_for_clients_with_certificates(
    zk_connect: str, tmp_path: Path
) -> None:
    required = {"listener.name.metrics.ssl.client.auth": "required"}
    async with site(zk_connect, tmp_path, required) as made:
        await made.reads_everything(made.reader(made.ca.issue("CN=reader")))
        for own in (None, Authority("CN=another").issue("CN=reader")):
            stranger = made.reader(own)
            for path in EVERY_PATH:
                with pytest.raises((aiohttp.ClientError, ssl.SSLError, ConnectionError)):
                    await stranger.get(f"https://{made.address}{path}")


@pytest.mark.gate
@pytest.mark.skipif(PROGRAM is None, reason="no Chromium: install Debian's package chromium")
async def test_sv_5_a_browser_asks_its_reader_for_the_password_once_and_then_shows_the_page_and_follows(
    zk_connect: str, tmp_path: Path
) -> None:
    users = str(users_file(tmp_path))
    async with site(zk_connect, tmp_path, {}, "--metrics-users-file", users) as made:
        url = f"https://{made.address}/"
        known = f"--ignore-certificate-errors-spki-list={fingerprint(made.server)}"
        async with browser(tmp_path / "stranger", known) as tab:
            await tab.answer_challenges()
            await tab.open(url)
            await eventually(lambda: shows(tab, "body", "user name and password are needed"))
        async with browser(tmp_path / "reader", known) as tab:
            tab.login = (USER, PASSWORD)
            await tab.answer_challenges()
            await tab.open(url)
            await eventually(lambda: shows(tab, "#role", "server 1000: controller"))
            await eventually(lambda: shows(tab, "#moves", f"{TOPIC}-0"))
            await eventually(lambda: shows(tab, "#brokers", "2"))
            await eventually(lambda: shows(tab, "#events", "move.started"))
            assert tab.challenges == 1, "the stream and the tables come with the password that was given for the page"
            assert f"{url}api/v1/stream" in tab.asked
            assert tab.problems == []


async def shows(tab: Tab, selector: str, text: str) -> bool:
    return text in await tab.text(selector)


def fingerprint(issued: Issued) -> str:
    """What Chromium knows a certificate by."""
    key = issued.chain[0].public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(sha256(key).digest()).decode()
