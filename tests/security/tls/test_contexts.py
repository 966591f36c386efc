"""Contexts: who may connect to whom, by which versions and ciphers, and as whom."""

import logging
import ssl
import sys
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID as Usage

from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.security.tls.context_parts import ReloadedContext, openssl_name
from kafka_reassign_rpc.security.tls.principal_mapping import NoMatchingRule
from kafka_reassign_rpc.security.tls.server_object import asked_name
from tests.certificates import Authority, Issued
from tests.security.tls.keytool_files import RECORDED, STORE_PASSWORD

NOTHING: Mapping[str, str] = {}


class Seen(NamedTuple):
    """What both ends see of a connection."""

    version: str | None
    cipher: str
    client_certificate: bytes | None
    server_certificate: bytes | None


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, host: str = "localhost") -> Seen:
    """A whole handshake in memory. Raises ssl.SSLError as the end that refuses does."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    inside = server.wrap_bio(to_server, to_client, server_side=True)
    outside = client.wrap_bio(to_client, to_server, server_hostname=host)
    for _ in range(3):
        for end in (outside, inside):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    with suppress(ssl.SSLWantReadError):
        outside.read()  # in TLS 1.3 a client learns so that it is refused
    cipher = inside.cipher()
    assert cipher is not None
    return Seen(inside.version(), cipher[0], inside.getpeercert(True), outside.getpeercert(True))


class Ends(NamedTuple):
    """Properties of a server and of a client that trust each other's authority."""

    ca: Authority
    server: dict[str, str]
    client: dict[str, str]
    alice: Issued

    def shake(
        self, server: Mapping[str, str] = NOTHING, client: Mapping[str, str] = NOTHING, host: str = "localhost"
    ) -> Seen:
        return shake_hands(
            TlsConfig.of({**self.server, **server}).load_server().context,
            TlsConfig.of({**self.client, **client}).load_client().context,
            host,
        )


@pytest.fixture
def ends(tmp_path: Path) -> Ends:
    ca = Authority("CN=ca")
    trust = ca.pem_truststore(tmp_path / "ca.pem")
    alice = ca.issue("CN=alice,O=Acme")
    own = alice.pkcs12_keystore(tmp_path / "alice.p12")
    return Ends(ca, {**ca.issue("CN=broker").pem_keystore(tmp_path / "server.pem"), **trust}, {**own, **trust}, alice)


def without_key(properties: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in properties.items() if "keystore" not in name}


@pytest.mark.parametrize("asked", ["none", "requested", "required"])
def test_sv_5_client_auth_has_kafkas_three_values(ends: Ends, asked: str) -> None:
    with_certificate = ends.shake({"ssl.client.auth": asked})
    assert with_certificate.client_certificate == (None if asked == "none" else ends.alice.der)
    anonymous = ends._replace(client=without_key(ends.client))
    if asked == "required":
        with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
            anonymous.shake({"ssl.client.auth": asked})
    else:
        assert anonymous.shake({"ssl.client.auth": asked}).client_certificate is None


@pytest.mark.parametrize("asked", ["requested", "required"])
def test_sv_5_a_client_of_another_authority_is_refused(ends: Ends, tmp_path: Path, asked: str) -> None:
    stranger = Authority("CN=ca").issue("CN=alice,O=Acme").pkcs12_keystore(tmp_path / "stranger.p12")
    with pytest.raises(ssl.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
        ends.shake({"ssl.client.auth": asked}, stranger)


def test_sv_5_certificates_count_only_in_their_time(ends: Ends, tmp_path: Path) -> None:
    day = timedelta(days=1)
    for name, begins, ends_ in (("past", -2 * day, -day), ("future", day, 2 * day)):
        issued = ends.ca.issue("CN=x", begins=begins, ends=ends_)
        store = issued.pkcs12_keystore(tmp_path / f"{name}.p12")
        with pytest.raises(ssl.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
            ends.shake({"ssl.client.auth": "required"}, store)
        with pytest.raises(ssl.SSLError, match=r"expired|not yet valid"):
            ends.shake(store)


def test_sv_5_a_client_checks_the_name_of_its_server_unless_set_otherwise(ends: Ends) -> None:
    ends.shake(host="127.0.0.1")
    with pytest.raises(ssl.SSLError, match="Hostname mismatch"):
        ends.shake(host="broker.example")
    ends.shake(client={"ssl.endpoint.identification.algorithm": ""}, host="broker.example")
    with pytest.raises(ssl.SSLError, match="Hostname mismatch"):
        ends.shake(client={"ssl.endpoint.identification.algorithm": "HTTPS"}, host="broker.example")


def test_sv_5_a_chain_with_an_authority_between_is_verified_up_to_what_is_trusted(ends: Ends, tmp_path: Path) -> None:
    between = Authority("CN=between", ends.ca)
    issued = between.issue("CN=bob")
    ends.shake({"ssl.client.auth": "required"}, issued.pkcs12_keystore(tmp_path / "bob.p12"))
    alone = Issued(issued.key, issued.chain[:1]).pkcs12_keystore(tmp_path / "alone.p12")
    with pytest.raises(ssl.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
        ends.shake({"ssl.client.auth": "required"}, alone)
    # as in Java: a truststore may have the authority between, and no other
    trust = between.pem_truststore(tmp_path / "between.pem")
    ends.shake({"ssl.client.auth": "required", **trust}, alone)
    with pytest.raises(ssl.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
        ends.shake({"ssl.client.auth": "required", **trust})


def test_sv_5_a_certificate_may_be_trusted_by_itself(ends: Ends, tmp_path: Path) -> None:
    (tmp_path / "own.pem").write_text(ends.alice.certificates_pem)
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(tmp_path / "own.pem")}
    assert ends.shake({"ssl.client.auth": "required", **trust}).client_certificate == ends.alice.der


def test_sv_5_keytools_authorities_without_key_usage_are_trusted() -> None:
    store = {"ssl.keystore.location": str(RECORDED / "both.jks"), "ssl.keystore.password": STORE_PASSWORD}
    trust = {"ssl.truststore.location": str(RECORDED / "trust.jks")}
    seen = shake_hands(
        TlsConfig.of({**store, **trust, "ssl.client.auth": "required"}).load_server().context,
        TlsConfig.of({**store, **trust, "ssl.endpoint.identification.algorithm": ""}).load_client().context,
    )
    assert seen.client_certificate == seen.server_certificate


@pytest.mark.parametrize(
    ("server", "client", "version"),
    [
        ({}, {}, "TLSv1.3"),
        ({"ssl.enabled.protocols": "TLSv1.2"}, {}, "TLSv1.2"),
        ({"ssl.enabled.protocols": "TLSv1.3,TLSv1.2"}, {"ssl.enabled.protocols": "TLSv1.2"}, "TLSv1.2"),
        ({"ssl.enabled.protocols": "TLSv1.3"}, {"ssl.enabled.protocols": "TLSv1.2"}, None),
        ({"ssl.enabled.protocols": "TLSv1.2,TLSv1.1,TLSv1"}, {}, "TLSv1.2"),
    ],
)  # fmt: skip
def test_sv_5_only_enabled_protocols_are_spoken(
    ends: Ends, server: dict[str, str], client: dict[str, str], version: str | None
) -> None:
    if version is None:
        with pytest.raises(ssl.SSLError, match="UNSUPPORTED_PROTOCOL"):
            ends.shake(server, client)
    else:
        assert ends.shake(server, client).version == version


def test_sv_5_tls_1_1_is_refused(ends: Ends) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError, match="UNSUPPORTED_PROTOCOL"):
        shake_hands(TlsConfig.of(ends.server).load_server().context, old)


def test_sv_5_cipher_suites_have_javas_names(ends: Ends, caplog: pytest.LogCaptureFixture) -> None:
    assert {
        suite: openssl_name(suite)
        for suite in (
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
            "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256",
            "TLS_RSA_WITH_AES_128_CBC_SHA",
            "TLS_RSA_WITH_AES_256_GCM_SHA384",
        )
    } == {
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
        "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256": "DHE-RSA-AES256-SHA256",
        "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
        "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    }
    suite = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    seen = ends.shake({"ssl.cipher.suites": suite})
    assert (seen.version, seen.cipher) == ("TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256")  # none of TLS 1.3 is named
    with pytest.raises(ssl.SSLError, match="NO_SHARED_CIPHER"):
        ends.shake({"ssl.cipher.suites": suite}, {"ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"})
    assert ends.shake({"ssl.cipher.suites": f"TLS_AES_256_GCM_SHA384,{suite}"}).version == "TLSv1.3"
    with caplog.at_level(logging.WARNING):
        ends.shake({"ssl.cipher.suites": f"TLS_KRB5_WITH_RC4_128_SHA, {suite}"})
    assert caplog.messages == [
        "ssl.cipher.suites: no connection uses these suites, which this OpenSSL lacks: TLS_KRB5_WITH_RC4_128_SHA"
    ]


def test_sv_5_dhe_works_where_it_is_named_and_nowhere_else(ends: Ends, tmp_path: Path) -> None:
    """One handshake by DHE costs a server many of the others, so a stranger gets none by default."""
    suite = "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"
    own = ends.ca.issue("CN=broker", by_rsa=True).pem_keystore(tmp_path / "rsa.pem")
    seen = ends.shake({**own, "ssl.cipher.suites": f"{suite},TLS_AES_256_GCM_SHA384"}, {"ssl.cipher.suites": suite})
    assert (seen.version, seen.cipher) == ("TLSv1.2", "DHE-RSA-AES128-GCM-SHA256")
    with pytest.raises(ssl.SSLError, match="NO_SHARED_CIPHER"):
        ends.shake(own, {"ssl.cipher.suites": suite})


@pytest.mark.parametrize(
    ("usages", "of_client", "of_server"),
    [
        ((), True, True),
        ((Usage.CLIENT_AUTH,), True, False),
        ((Usage.SERVER_AUTH,), False, True),
        ((Usage.SERVER_AUTH, Usage.CLIENT_AUTH), True, True),
        ((Usage.ANY_EXTENDED_KEY_USAGE,), False, False),  # Java takes it for both
    ],
)
def test_sv_5_an_extended_key_usage_says_whose_a_certificate_can_be(
    ends: Ends, tmp_path: Path, usages: tuple[x509.ObjectIdentifier, ...], of_client: bool, of_server: bool
) -> None:
    """As docs/security compares it with Java."""
    issued = ends.ca.issue("CN=any", usages=usages)
    own = issued.pkcs12_keystore(tmp_path / "own.p12")
    for server, client, right in (({"ssl.client.auth": "required"}, own, of_client), (own, {}, of_server)):
        with nullcontext() if right else pytest.raises(ssl.SSLError, match="unsuitable certificate purpose"):
            ends.shake(server, client)


def test_sv_5_a_principal_is_the_subject_by_the_mapping_rules(ends: Ends) -> None:
    assert TlsConfig.of(ends.server).principal_of(None) == "User:ANONYMOUS"
    assert TlsConfig.of(ends.server).principal_of(ends.alice.der) == "User:CN=alice,O=Acme"
    rules = {"ssl.principal.mapping.rules": "RULE:^CN=([^,]*),O=Acme$/$1/U"}
    assert TlsConfig.of({**ends.server, **rules}).principal_of(ends.alice.der) == "User:ALICE"
    with pytest.raises(NoMatchingRule, match=r"no rule of ssl.principal.mapping.rules applies to 'CN=bob'"):
        TlsConfig.of({**ends.server, **rules}).principal_of(ends.ca.issue("CN=bob").der)


def test_sv_6_a_certificate_with_a_longer_name_than_any_user_is_refused(ends: Ends) -> None:
    parts = ",".join(f"OU={number:060}" for number in range(17))  # X.509 allows 64 characters in each
    longest = ends.ca.issue(f"CN=bob,{parts[: 15 * 64 - 1]}").der
    assert TlsConfig.of(ends.server).principal_of(longest).startswith("User:CN=bob,")
    longer = ends.ca.issue(f"CN=bob,{parts}").der
    shortening = {"ssl.principal.mapping.rules": "RULE:^CN=([^,]*),.*$/$1/"}
    for rules in ({}, shortening):
        with pytest.raises(NoMatchingRule, match="a user's at most 1024"):
            TlsConfig.of({**ends.server, **rules}).principal_of(longer)
    doubling = {"ssl.principal.mapping.rules": "RULE:^(.*)$/$1$1/"}
    with pytest.raises(NoMatchingRule, match="a user's at most 1024"):
        TlsConfig.of({**ends.server, **doubling}).principal_of(longest)


@pytest.mark.parametrize(
    ("first_day", "last_day", "saying"),
    [(-30, 20, ""), (-30, 10, "the certificate ends on "), (-30, -1, "the certificate has ended on "), (1, 30, "from")],
)
def test_sv_5_a_certificate_that_ends_soon_is_warned_of(
    ends: Ends, tmp_path: Path, caplog: pytest.LogCaptureFixture, first_day: int, last_day: int, saying: str
) -> None:
    issued = ends.ca.issue("CN=broker", begins=timedelta(days=first_day), ends=timedelta(days=last_day))
    TlsConfig.of(issued.pem_keystore(tmp_path / "own.pem")).load_server()
    assert saying in caplog.text
    assert bool(caplog.messages) == bool(saying)


def test_sv_5_a_handshake_cannot_be_repeated_on_a_connection(ends: Ends) -> None:
    assert TlsConfig.of(ends.server).load_server().context.options & ssl.OP_NO_RENEGOTIATION


def test_sv_5_a_client_certificate_is_asked_for_in_every_session(ends: Ends) -> None:
    context = TlsConfig.of({**ends.server, "ssl.client.auth": "required"}).load_server().context
    assert context.num_tickets == 0
    assert context.options & ssl.OP_NO_TICKET


async def test_sv_5_changed_files_give_a_new_context_and_broken_ones_keep_the_old(
    ends: Ends, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = TlsConfig.of(ends.server)
    reloaded = ReloadedContext("listener SSL", config.load_server, config.files)
    client = TlsConfig.of(ends.client).load_client().context
    first = shake_hands(reloaded.context, client).server_certificate
    assert not await reloaded.check()
    path = tmp_path / "server.pem"
    second = ends.ca.issue("CN=broker")
    second.pem_keystore(path)
    assert await reloaded.check()
    assert shake_hands(reloaded.context, client).server_certificate == second.der != first
    caplog.clear()
    path.write_text("half of a fi")
    assert not await reloaded.check()
    assert not await reloaded.check()
    assert caplog.messages == [
        "listener SSL keeps its certificates, since the new files cannot be used:"
        f" ssl.keystore.location: {path}: it is neither PEM nor PKCS12 nor JKS"
    ]
    assert shake_hands(reloaded.context, client).server_certificate == second.der
    path.unlink()
    assert not await reloaded.check()
    assert shake_hands(reloaded.context, client).server_certificate == second.der
    third = ends.ca.issue("CN=broker")
    third.pem_keystore(path)
    assert await reloaded.check()
    assert shake_hands(reloaded.context, client).server_certificate == third.der


def test_kr_9_a_server_knows_the_name_that_a_client_asks_for_and_an_odd_one_prints_nothing(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)
    context = TlsConfig.of(ends.server).load_server(keeps_names=True).context
    client = TlsConfig.of({**ends.client, "ssl.endpoint.identification.algorithm": ""}).load_client().context
    for sent, kept in ((b"broker-1.front", "broker-1.front"), (b"\xff\xfeoker-1.front", None)):
        hello, answer = ssl.MemoryBIO(), ssl.MemoryBIO()
        with suppress(ssl.SSLWantReadError):
            client.wrap_bio(answer, hello, server_hostname="broker-1.front").do_handshake()
        to_server = ssl.MemoryBIO()
        to_server.write(hello.read().replace(b"broker-1.front", sent))
        server = context.wrap_bio(to_server, ssl.MemoryBIO(), server_side=True)
        with pytest.raises(ssl.SSLWantReadError if kept else ssl.SSLError):
            server.do_handshake()
        assert asked_name(server) == kept
    assert not printed
