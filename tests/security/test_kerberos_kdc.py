"""GSSAPI with a real KDC (see `conftest.py`: only where there is one)."""

import os
from collections.abc import AsyncIterator, Iterator
from typing import Any

import gssapi
import pytest
import pytest_asyncio

from kafka_reassign_rpc.controller_channel.broker_link_settings import broker_links
from kafka_reassign_rpc.core.state.cluster import Broker, Endpoint
from kafka_reassign_rpc.protocol.messages import SaslAuthenticateRequest
from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.login import kerberos
from kafka_reassign_rpc.security.login.jaas import JaasEntry
from kafka_reassign_rpc.security.sasl.sasl_config import SaslConfig
from kafka_reassign_rpc.server.sasl_sources import SaslSources
from tests.raw_client import Client, connected
from tests.security.realm import kerberos_realm
from tests.security.sasl_scenarios import handshake
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
        "listener.name.a.gssapi.sasl.kerberos.principal.to.local.rules": "RULE:[1:$1@$0](user@.*)s/@.*/-of-realm/",
    }


@pytest_asyncio.fixture
async def sources(realm: Any) -> AsyncIterator[SaslSources]:
    found = SaslSources({"A": SaslConfig.of(properties(realm), "A")})
    await found.start()
    yield found
    await found.close()


async def token(client: Client, data: bytes) -> Any:
    return await client.call(SaslAuthenticateRequest(auth_bytes=data, version=2), 2)


async def begun(client: Client, realm: Any) -> tuple[Any, bytes]:
    """The client's context when its ticket is accepted, and the server's offer of layers."""
    data = handshake("GSSAPI")
    await client.send(len(data).to_bytes(4, "big") + data)
    await client.frame()
    name = gssapi.Name(realm.host_princ, gssapi.NameType.kerberos_principal)
    context = gssapi.SecurityContext(name=name, usage="initiate", flags=gssapi.RequirementFlag.mutual_authentication)
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
        context, offer = await begun(client, realm)
        assert offer == b"\x01\x00\x00\x00"
        answer = await token(client, context.wrap(b"\x01\x00\x00\x00somebody-else", False).message)
        assert (answer.error_code, answer.auth_bytes) == (0, b"")
        assert (made[0].principal, made[0].mechanism) == ("User:user-of-realm", "GSSAPI")
        assert (await client.call(versions(), 0)).error_code == 0


@pytest.mark.parametrize("chosen", [b"", b"\x02\x00\x10\x00", b"\x01"])
async def test_sv_5_whoever_wants_a_security_layer_fails(
    realm: Any, sources: SaslSources, start_server: StartServer, chosen: bytes
) -> None:
    server = await start_server(None, sources.authenticator("A"))
    async with connected(address(server)) as client:
        context, _ = await begun(client, realm)
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
    for name in (kerberos.KEYTAB, kerberos.CACHE):
        monkeypatch.setenv(name, os.environ[name])


@pytest.mark.parametrize("user", ["user", "other"])
@pytest.mark.usefixtures("own_environment")
def test_sv_5_of_a_keytab_with_several_principals_the_one_that_is_named_logs_in(realm: Any, user: str) -> None:
    kerberos.prepare(client_entry(realm, f"{user}@{realm.realm}"), "Client")
    assert str(gssapi.Credentials(usage="initiate").name) == f"{user}@{realm.realm}"


@pytest.mark.usefixtures("own_environment")
def test_sv_5_a_principal_without_a_key_in_the_keytab_is_named(realm: Any) -> None:
    with pytest.raises(BadSetting, match="Client: Kerberos has no ticket for nobody@"):
        kerberos.prepare(client_entry(realm, f"nobody@{realm.realm}"), "Client")


@pytest.mark.usefixtures("own_environment")
def test_sv_5_a_second_principal_in_a_process_is_refused(realm: Any) -> None:
    kerberos.prepare(client_entry(realm, realm.user_princ), "Client")
    kerberos.prepare(client_entry(realm, realm.user_princ), "KafkaServer")
    with pytest.raises(BadSetting, match=r"KafkaServer: principal: another one is in use already \(user@"):
        kerberos.prepare(client_entry(realm, f"other@{realm.realm}"), "KafkaServer")
