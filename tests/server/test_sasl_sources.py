"""What SASL takes from files and from an issuer of tokens: read at the start, followed, and never an admission."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web
from joserfc.jwk import KeySet

from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.security.sasl.hashed_users import HashedUsers, hashed_line, parse_users
from kafka_reassign_rpc.security.sasl.oauthbearer import OAuthBearerSaslServer, TokenRules
from kafka_reassign_rpc.security.sasl.sasl_config import JwksConfig, SaslConfig
from kafka_reassign_rpc.server import sasl_sources
from kafka_reassign_rpc.server.sasl_sources import Jwks, SaslSources, UsersFile
from tests.security.sasl_steps import CREDENTIALS, USERS, as_config
from tests.security.test_oauthbearer import EC, RSA, first, signed
from tests.waiting import eventually

ODD = "a,b=c%25ü"


def users_file(path: Path, *users: str) -> Path:
    lines = {user: as_config(CREDENTIALS["SCRAM-SHA-256"][user]) for user in users}
    path.write_text("".join(f'"{user}" = "{line}"\n' for user, line in lines.items()))
    return path


@pytest.fixture
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sasl_sources, "LOOKS_EVERY_S", 0.02)


async def test_sv_5_users_of_a_file_are_known_by_their_passwords_alone(tmp_path: Path) -> None:
    file = UsersFile("sasl.plain.users.file", users_file(tmp_path / "users", "alice", ODD))
    file.read()
    for _ in range(2):  # the second time a digest is enough
        assert await file.users.verify("alice", USERS["alice"], "127.0.0.1")
        assert await file.users.verify(ODD, USERS[ODD], "127.0.0.1")
        assert not await file.users.verify("alice", USERS[ODD], "127.0.0.1")
        assert not await file.users.verify("bob", USERS["bob"], "127.0.0.1")
    assert await HashedUsers(parse_users(f'x = "{hashed_line("päss", 4096)}"'.encode(), "")).verify(
        "x", "päss", "127.0.0.1"
    )


async def test_sv_5_who_is_taken_out_of_the_file_is_unknown_from_then_on(
    tmp_path: Path, quick_looks: None, caplog: pytest.LogCaptureFixture
) -> None:
    path = users_file(tmp_path / "users", "alice", "bob")
    config = SaslConfig.of({"sasl.enabled.mechanisms": "PLAIN", "sasl.plain.users.file": str(path)}, "EXTERNAL")
    sources = SaslSources({"EXTERNAL": config})
    await sources.start()
    users = sources._files[config.users_file].users  # type: ignore[index]
    assert await users.verify("alice", USERS["alice"], "127.0.0.1")
    users_file(tmp_path / "new", "bob").rename(path)
    await eventually(lambda: _is_unknown(users, "alice"))
    with caplog.at_level(logging.ERROR):
        path.write_text("alice = 'secret-word'\n")
        await eventually(lambda: "stay as they were" in caplog.text)
    assert "secret-word" not in caplog.text
    assert await users.verify("bob", USERS["bob"], "127.0.0.1")
    await sources.close()


async def _is_unknown(users: HashedUsers, user: str) -> bool:
    return not await users.verify(user, USERS[user], "127.0.0.1")


@pytest.mark.parametrize(
    "data",
    [
        *(b"\xff", b"alice", b"alice = 1", b"alice = 'secret-word'", b"[alice]\nx = 1", b"alice = 'salt=,stored_key='"),
        *(b"alice = " + b"9" * 5000, b"alice = " + b"[" * 5000),
    ],
    ids=range(8),
)
async def test_sv_5_a_file_that_is_none_is_named_without_its_content(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "users"
    path.write_bytes(data)
    with pytest.raises(BadSetting, match=f"sasl.plain.users.file: {path}") as caught:
        UsersFile("sasl.plain.users.file", path).read()
    assert "secret-word" not in str(caught.value)


async def test_sv_5_too_many_or_too_few_iterations_of_a_hash_are_refused() -> None:
    for count in (1, 4095, 2_000_001):
        line = as_config(CREDENTIALS["SCRAM-SHA-512"]["alice"]).replace("iterations=4096", f"iterations={count}")
        with pytest.raises(BadSetting, match="iterations"):
            parse_users(f'alice = "{line}"'.encode(), "file")


class Issuer:
    """An issuer of tokens over HTTP."""

    def __init__(self) -> None:
        self.body = keys(RSA)
        self.status = 200
        self.asked_at: list[float] = []
        self.url = ""

    @property
    def asked(self) -> int:
        return len(self.asked_at)

    async def answer(self, _request: web.Request) -> web.Response:
        self.asked_at.append(asyncio.get_running_loop().time())
        return web.Response(body=self.body, status=self.status)


def keys(*given: object) -> bytes:
    return json.dumps(KeySet(list(given)).as_dict(private=False)).encode()  # type: ignore[arg-type]


@pytest_asyncio.fixture
async def issuer() -> AsyncIterator[Issuer]:
    found = Issuer()
    app = web.Application()
    app.router.add_get("/keys", found.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}/keys"
    yield found
    await runner.cleanup()


def kids(jwks: Jwks) -> set[object]:
    return set() if jwks.keys.keys is None else {key.kid for key in jwks.keys.keys.keys}


async def test_sv_5_keys_come_from_the_issuer_or_a_file(issuer: Issuer, tmp_path: Path) -> None:
    jwks = Jwks(JwksConfig("jwks", issuer.url))
    await jwks.fetch()
    assert kids(jwks) == {"rsa"}
    path = tmp_path / "keys.json"
    path.write_bytes(keys(RSA, EC))
    jwks = Jwks(JwksConfig("jwks", f"file://{path}"))
    await jwks.fetch()
    assert kids(jwks) == {"rsa", "ec"}


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"keys":[{"kty":"x"}]}', b'{"keys":1}', b" " * (2**20 + 1), b"[" * 100_000, b"9" * 5000],
    ids=range(8),
)
async def test_sv_5_what_is_no_jwks_is_refused_and_the_keys_stay(issuer: Issuer, body: bytes) -> None:
    jwks = Jwks(JwksConfig("sasl.oauthbearer.jwks.endpoint.url", issuer.url))
    await jwks.fetch()
    issuer.body = body
    with pytest.raises(BadSetting, match=r"sasl\.oauthbearer\.jwks\.endpoint\.url: no keys"):
        await jwks.fetch()
    assert kids(jwks) == {"rsa"}


async def test_sv_5_an_issuer_that_is_gone_is_refused_at_the_start_without_its_secrets(issuer: Issuer) -> None:
    issuer.status = 503
    for url in (issuer.url + "?key=secret-word", "http://user:secret-word@127.0.0.1:1/keys", "file:///secret/none"):
        config = SaslConfig.of(
            {"sasl.enabled.mechanisms": "OAUTHBEARER", "sasl.oauthbearer.jwks.endpoint.url": url}, "EXTERNAL"
        )
        sources = SaslSources({"EXTERNAL": config})
        with pytest.raises(BadSetting, match=r"jwks\.endpoint\.url: no keys") as caught:
            await sources.start()
        assert "secret-word" not in str(caught.value)
        await sources.close()


async def test_sv_5_an_unknown_key_is_fetched_at_once_and_failures_are_tried_again(issuer: Issuer) -> None:
    config = JwksConfig("jwks", issuer.url, refresh_s=3600.0, first_wait_s=0.01, longest_wait_s=0.02)
    jwks = Jwks(config)
    await jwks.fetch()
    task = asyncio.create_task(jwks.follow())
    issuer.body, issuer.status = keys(RSA, EC), 500
    jwks.keys.wanted()
    await eventually(lambda: issuer.asked >= 4)
    issuer.status = 200
    await eventually(lambda: kids(jwks) == {"rsa", "ec"})
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_hm_5_unknown_keys_are_fetched_no_more_often_than_the_retry_backoff_allows_for_all_together(
    issuer: Issuer,
) -> None:
    """Kafka remembers sixteen of them: a client that sends more makes it fetch all the time."""
    config = JwksConfig("jwks", issuer.url, refresh_s=3600.0, first_wait_s=0.1, longest_wait_s=0.4)
    jwks = Jwks(config)
    await jwks.fetch()
    server = OAuthBearerSaslServer(jwks.keys, TokenRules())
    task = asyncio.create_task(jwks.follow())
    strangers = [first(signed(kid=f"unknown {number}")) for number in range(20)]
    while issuer.asked < 6:
        for one in strangers:
            server.evaluate(one)
        await asyncio.sleep(0.002)
    waits = [after - before for before, after in pairwise(issuer.asked_at)][1:]  # the first is at once
    assert all(wait > 0.9 * least for wait, least in zip(waits, (0.1, 0.2, 0.4, 0.4), strict=True)), waits
    issuer.body = keys(RSA, EC)
    server.evaluate(first(signed(EC, "ES256", "ec")))
    await eventually(lambda: kids(jwks) == {"rsa", "ec"})
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
