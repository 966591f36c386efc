"""GSSAPI with a real KDC (see `conftest.py`: only where there is one)."""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from typing import Any

import gssapi
import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.protocol.messages import SaslAuthenticateRequest
from kafka_reassign_rpc.security.login import sasl_login
from kafka_reassign_rpc.security.login.jaas import JaasEntry
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.security.sasl.sasl_config import SaslConfig
from kafka_reassign_rpc.server.sasl_sources import SaslSources
from kafka_reassign_rpc.transport.broker_links import broker_links
from tests.raw_client import Client, connected
from tests.security.kerberos_tokens import LAYERS, no_tickets, spoilt
from tests.security.realm import initiator, kerberos_realm
from tests.security.sasl_scenarios import handshake
from tests.security.test_login_costs import Case, late
from tests.security.worst_tokens import LARGEST, authenticate
from tests.server.conftest import StartServer, address, start_server
from tests.server.test_server_connections import versions

__all__ = ["start_server"]


@pytest.fixture(scope="module")
def realm() -> Iterator[Any]:
    with kerberos_realm() as found:
        yield found


def properties(realm: Any, keytab: str | None = None) -> dict[str, str]:
    return {
        "listener.name.a.gssapi.sasl.jaas.config": (
            "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"
            f' keyTab="{keytab or realm.keytab}" principal="{realm.host_princ}";'
        ),
        "listener.name.a.sasl.kerberos.principal.to.local.rules": "RULE:[1:$1@$0](user@.*)s/@.*/-of-realm/",
    }


@pytest_asyncio.fixture
async def sources(realm: Any) -> AsyncIterator[SaslSources]:
    found = SaslSources({"A": SaslConfig.of(properties(realm), "A")})
    await found.start()
    yield found
    await found.close()


async def token(client: Client, data: bytes) -> Any:
    return await client.call(SaslAuthenticateRequest(auth_bytes=data, version=2), 2)


async def begun(client: Client, credentials: Any = None) -> tuple[Any, bytes]:
    """The client's context when its ticket is accepted, and the server's offer of layers."""
    data = handshake("GSSAPI")
    await client.send(len(data).to_bytes(4, "big") + data)
    await client.frame()
    context = initiator(credentials)
    answer = await token(client, context.step())
    assert answer.error_code == 0
    context.step(answer.auth_bytes)
    offer = await token(client, b"")
    return context, context.unwrap(offer.auth_bytes).message


async def test_sv_5_a_ticket_lets_its_user_in_under_the_name_of_the_rules(
    realm: Any, sources: SaslSources, start_server: StartServer
) -> None:
    made: list[Any] = []

    def authenticator(context: Any) -> Any:
        made.append(sources.authenticator("A")(context))
        return made[-1]

    server = await start_server(None, authenticator)
    async with connected(address(server)) as client:
        context, offer = await begun(client)
        assert offer == b"\x01\x00\x00\x00"
        answer = await token(client, context.wrap(b"\x01\x00\x00\x00somebody-else", False).message)
        assert (answer.error_code, answer.auth_bytes) == (0, b"")
        assert (made[0].principal, made[0].mechanism) == ("User:user-of-realm", "GSSAPI")
        assert (await client.call(versions(), 0)).error_code == 0


@pytest.mark.parametrize("chosen", [b"", b"\x02\x00\x10\x00", b"\x01"])
async def test_sv_5_a_client_that_wants_a_security_layer_fails(
    realm: Any, sources: SaslSources, start_server: StartServer, chosen: bytes
) -> None:
    server = await start_server(None, sources.authenticator("A"))
    async with connected(address(server)) as client:
        context, _ = await begun(client)
        answer = await token(client, context.wrap(chosen, False).message)
        assert answer.error_code == 58
        assert answer.error_message.endswith("due to invalid credentials with SASL mechanism GSSAPI")
        assert await client.is_closed()


@pytest.mark.parametrize("garbage", [b"", b"\x60", b"garbage" * 100])
async def test_sv_5_what_is_no_ticket_fails(sources: SaslSources, start_server: StartServer, garbage: bytes) -> None:
    server = await start_server(None, sources.authenticator("A"))
    async with connected(address(server)) as client:
        data = handshake("GSSAPI")
        await client.send(len(data).to_bytes(4, "big") + data)
        await client.frame()
        assert (await token(client, garbage)).error_code == 58
        assert await client.is_closed()


def ticket() -> bytes:
    """A first token that would be accepted."""
    return bytes(initiator().step())


class Exchange:
    """Frames of a client whose ticket is right, up to a last one that is made of its context."""

    def __init__(self, name: str, bare: bool) -> None:
        self._name, self._bare = name, bare

    def case(self) -> Case:
        steps = (handshake("GSSAPI", 0 if self._bare else 1), self._first, self._second, self._last)
        return Case(f"a layer of {self._name}{', bare' if self._bare else ''}", steps, self._bare)

    def _sent(self, token: bytes) -> bytes:
        return token if self._bare else authenticate(token)

    def _first(self, _: bytes) -> bytes:
        self._context = initiator()
        return self._sent(self._context.step())

    def _second(self, token: bytes) -> bytes:
        self._context.step(token)
        return self._sent(b"")

    def _last(self, offer: bytes) -> bytes:
        assert self._context.unwrap(offer).message == b"\x01\x00\x00\x00"
        return self._sent(LAYERS[self._name](self._context))


def hostile() -> Iterator[Case]:
    right = ticket()
    for name, data in (*no_tickets(), *spoilt(right)):
        yield Case(f"0: {name}", (handshake("GSSAPI", 0), data), bare=True)
        yield Case(f"1: {name}", (handshake("GSSAPI"), authenticate(data)))
        if name != "nothing":
            yield Case(f"without a handshake: {name}", (data,), bare=True)
    for name in LAYERS:
        yield from (Exchange(name, bare).case() for bare in (True, False))


async def test_hm_5_no_token_in_the_place_of_a_ticket_or_a_layer_holds_the_loop_or_lets_a_client_in(
    realm: Any, sources: SaslSources, start_server: StartServer
) -> None:
    made: list[Any] = []

    def authenticator(context: Any) -> Any:
        made.append(sources.authenticator("A")(context))
        return made[-1]

    limits: dict[str, Any] = {"connection_failed_authentication_delay_ms": 0}
    server = await start_server(None, authenticator, **limits)
    cases = list(hostile())
    assert await late(server, cases) == {}
    assert len(made) >= len(cases)
    assert all(one.max_receive_size == LARGEST for one in made)
    assert [one.principal for one in made if one.authenticated] == []
    assert server.stats.handler_failures == 0


async def first_answer(server: Any, data: bytes) -> int | None:
    """The error for a client's first token; None where the connection closes without an answer."""
    async with connected(address(server)) as client:
        frame = handshake("GSSAPI")
        await client.send(len(frame).to_bytes(4, "big") + frame)
        await client.frame()
        await client.send(client.request(SaslAuthenticateRequest(auth_bytes=data, version=2), 2))
        try:
            answer = await client.frame()
        except EOFError:
            return None
        return int.from_bytes(answer[5:7], "big")


async def test_hm_5_a_refused_ticket_fails_at_once_and_a_repeated_one_closes_as_in_kafka(
    realm: Any, sources: SaslSources, start_server: StartServer
) -> None:
    """MIT's library has an answer to them for the client; Java's has none, so stock brokers send none."""
    server = await start_server(None, sources.authenticator("A"))
    right = ticket()
    assert await first_answer(server, right) == 0
    assert await first_answer(server, right) is None
    wrong = bytearray(ticket())
    wrong[-1] ^= 1
    assert await first_answer(server, bytes(wrong)) == 58


@pytest.mark.usefixtures("own_environment")
async def test_hm_5_a_ticket_of_another_realm_or_for_another_service_fails(
    realm: Any, sources: SaslSources, start_server: StartServer
) -> None:
    server = await start_server(None, sources.authenticator("A"))
    other = f"other-service/localhost@{realm.realm}"
    realm.addprinc(other)
    name = gssapi.Name(other, gssapi.NameType.kerberos_principal)
    assert await first_answer(server, gssapi.SecurityContext(name=name, usage="initiate").step()) == 58
    mine = realm.env
    with kerberos_realm():
        theirs = ticket()
    os.environ.update(mine)
    assert await first_answer(server, theirs) == 58
    assert await first_answer(server, ticket()) == 0


@pytest.mark.parametrize("name", [b"a\\@EVIL.COM", b"a/b/c", b"a" * 1500])
async def test_hm_5_a_principal_whose_name_is_no_users_does_not_get_in(
    realm: Any, sources: SaslSources, start_server: StartServer, name: bytes
) -> None:
    """The KDC's administrator may have made it anyway."""
    made: list[Any] = []

    def authenticator(context: Any) -> Any:
        made.append(sources.authenticator("A")(context))
        return made[-1]

    server = await start_server(None, authenticator)
    async with connected(address(server)) as client:
        context, offer = await begun(client, ticket_of(realm, name))
        last = context.wrap(offer, False).message
        await client.send(client.request(SaslAuthenticateRequest(auth_bytes=last, version=2), 2))
        await client.is_closed()
    assert [one.authenticated for one in made] == [False]
    assert server.stats.handler_failures == 0


def ticket_of(realm: Any, name: bytes) -> Any:
    """Credentials of a new principal."""
    principal, cache = name + b"@" + realm.realm.encode(), f"{realm.tmpdir}/ticket"
    subprocess.run(["kadmin.local", "-q", b'addprinc -pw pw "' + principal + b'"'], check=True, capture_output=True)
    subprocess.run(["kinit", "-c", cache, principal], input=b"pw\n", check=True, capture_output=True)
    return gssapi.Credentials(usage="initiate", store={"ccache": cache})


async def test_sv_5_a_keytab_that_cannot_be_used_is_named(realm: Any) -> None:
    sources = SaslSources({"A": SaslConfig.of(properties(realm, "/none/keytab"), "A")})
    with pytest.raises(BadSetting, match=r"listener\.name\.a\.gssapi\.sasl\.jaas\.config: /none/keytab has no key of"):
        await sources.start()
    await sources.close()


@pytest.mark.usefixtures("own_environment")
async def test_sv_5_our_link_to_brokers_logs_in_by_a_keytab(realm: Any, start_server: StartServer) -> None:
    service = f"kafka/localhost@{realm.realm}"
    realm.addprinc(service)
    realm.extract_keytab(service, realm.keytab)
    of_server = {
        "listener.name.a.gssapi.sasl.jaas.config": (
            f'com.sun.security.auth.module.Krb5LoginModule required keyTab="{realm.keytab}" principal="{service}";'
        )
    }
    of_link = {
        "security.inter.broker.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism.inter.broker.protocol": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "listener.name.sasl_plaintext.gssapi.sasl.jaas.config": (
            "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true"
            f' keyTab="{client_entry(realm, "").option("keyTab")}" principal="{realm.user_princ}";'
        ),
    }
    made: list[Any] = []
    sources = SaslSources({"A": SaslConfig.of(of_server, "A")})
    await sources.start()

    def authenticator(context: Any) -> Any:
        made.append(sources.authenticator("A")(context))
        return made[-1]

    server = await start_server(None, authenticator)
    endpoint = Endpoint("SASL_PLAINTEXT", "SASL_PLAINTEXT", "localhost", address(server)[1])
    client = await broker_links(of_link).open(Broker(1, 1, (endpoint,)), "1000", 10.0)
    try:
        assert await client.versions()
        assert (made[0].principal, made[0].mechanism) == ("User:user", "GSSAPI")
    finally:
        client.close()
        await sources.close()


def client_entry(realm: Any, principal: str) -> JaasEntry:
    """Of a client whose keytab has keys of the users `user` and `other`."""
    if not os.path.exists(realm.client_keytab):
        realm.addprinc(f"other@{realm.realm}")
        for user in (realm.user_princ, f"other@{realm.realm}"):
            realm.extract_keytab(user, realm.client_keytab)
    return JaasEntry("x.Krb5LoginModule", {"useKeyTab": "true", "keyTab": realm.client_keytab, "principal": principal})


@pytest.fixture
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logins change the environment of their process."""
    for name in (sasl_login.KEYTAB, sasl_login.CACHE):
        monkeypatch.setenv(name, os.environ[name])


@pytest.mark.parametrize("user", ["user", "other"])
@pytest.mark.usefixtures("own_environment")
def test_sv_5_of_a_keytab_with_several_principals_the_one_that_is_named_logs_in(realm: Any, user: str) -> None:
    sasl_login.prepare(client_entry(realm, f"{user}@{realm.realm}"), "Client")
    assert str(gssapi.Credentials(usage="initiate").name) == f"{user}@{realm.realm}"


@pytest.mark.usefixtures("own_environment")
def test_sv_5_a_principal_without_a_key_in_the_keytab_is_named(realm: Any) -> None:
    with pytest.raises(BadSetting, match="Client: Kerberos has no ticket for nobody@"):
        sasl_login.prepare(client_entry(realm, f"nobody@{realm.realm}"), "Client")


@pytest.mark.usefixtures("own_environment")
def test_sv_5_a_second_principal_in_a_process_is_refused(realm: Any) -> None:
    sasl_login.prepare(client_entry(realm, realm.user_princ), "Client")
    sasl_login.prepare(client_entry(realm, realm.user_princ), "KafkaServer")
    with pytest.raises(BadSetting, match=r"KafkaServer: principal: another one is in use already \(user@"):
        sasl_login.prepare(client_entry(realm, f"other@{realm.realm}"), "KafkaServer")
