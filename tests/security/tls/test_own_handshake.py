"""A handshake of a server with itself takes and refuses what stock Kafka's does, and dates are read from what is
loaded.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtensionOID

from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.security.tls.own_handshake import Refused, dns_names, ends, has_name, refused
from tests.certificates import Authority
from tests.security.tls.handshakes import Pair, ask_java, pairs, recorded
from tests.tables import for_each

NOW = datetime.now(UTC)
X400_NAME = bytes.fromhex("3004a3023000")


def judged(pair: Pair) -> Refused | None:
    server, client = TlsConfig.of(pair.server).load_server(), TlsConfig.of(pair.client).load_client().twin
    return refused(server, client, pair.host, NOW)


def test_sv_5_a_handshake_of_a_server_with_itself_refuses_what_kafkas_own_engines_refuse(tmp_path: Path) -> None:
    said = recorded()
    asked = pairs(tmp_path)
    assert {*said} == {*asked}
    ours = {what: judged(pair) for what, pair in asked.items()}
    assert {what: one is None for what, one in ours.items()} == {what: one == "taken" for what, one in said.items()}
    of_trust = {what for what, one in ours.items() if one is not None and one.is_of_trust}
    assert of_trust == {
        *("of another CA", "without the one between", "signed by itself and not trusted"),
        *("a client with a certificate of another CA", "a client with a certificate that has expired"),
        "a client with a certificate for servers alone",
    }


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("of another CA", "no certificate of the truststore has issued it"),
        ("expired", "the certificate has expired on 2"),
        ("not yet valid", "the certificate is valid only from 2"),
        ("with the one between, which has expired", "the CA certificate CN=old below has expired on 2"),
        ("another name", "the certificate has not the name broker.example.com"),
        ("for clients alone", "the certificate is refused: unsuitable certificate purpose"),
        ("a key that may only encipher", "the certificate's key usage is without digitalSignature"),
        ("no suite in common", "TLS fails: no shared cipher"),
        ("a client with a certificate of another CA", "does not take the own certificate as a client's"),
    ],
)
def test_sv_5_the_refusal_says_what_is_wrong(tmp_path: Path, what: str, why: str) -> None:
    found = judged(pairs(tmp_path)[what])
    assert found is not None
    assert why in found.why


def test_sv_5_a_certificate_with_a_kind_of_name_that_is_not_read_here_is_taken(tmp_path: Path) -> None:
    """Peers pass over it, and a server that stumbled over it would never be elected."""
    ca = Authority("CN=ca")
    odd = x509.UnrecognizedExtension(ExtensionOID.SUBJECT_ALTERNATIVE_NAME, X400_NAME)
    issued = ca.issue(hosts=(), more=[odd])
    trust = {**ca.pem_truststore(tmp_path / "ca.pem"), "ssl.endpoint.identification.algorithm": ""}
    own = {**issued.pem_keystore(tmp_path / "own.pem"), **trust}
    assert judged(Pair(own, own, "localhost")) is None
    assert [*ends(TlsConfig.of(own).load_server().own, ())]


def test_sv_5_a_client_without_a_certificate_says_nothing_of_whether_brokers_have_one(tmp_path: Path) -> None:
    ca = Authority("CN=ca")
    trust = ca.pem_truststore(tmp_path / "ca.pem")
    own = {**ca.issue().pem_keystore(tmp_path / "own.pem"), "ssl.client.auth": "required"}
    assert judged(Pair({**own, **trust}, trust, "localhost")) is None


def test_sv_5_a_truststore_that_cannot_be_read_is_a_refusal(tmp_path: Path) -> None:
    own = Authority("CN=ca").issue().pem_keystore(tmp_path / "own.pem")
    lacking = {"ssl.truststore.location": str(tmp_path / "none.pem")}
    loaded = TlsConfig.of({**own, **lacking}).load_server()  # no peer has to show a certificate
    found = refused(loaded, loaded.twin, "localhost", NOW)
    assert found is not None
    assert found.why.startswith("ssl.truststore.location: cannot read")


def test_sv_5_the_dates_are_those_of_the_own_certificate_and_of_those_above_it(tmp_path: Path) -> None:
    ca = Authority("CN=ca", ends=timedelta(days=40))
    below = Authority("CN=below", ca, ends=timedelta(days=50))
    loaded = TlsConfig.of(
        {
            **below.issue(ends=timedelta(days=20)).pem_keystore(tmp_path / "own.pem"),
            **ca.pem_truststore(tmp_path / "ca.pem"),
        }
    ).load_server()
    found = {
        one.part: round((one.at - NOW.timestamp()) / 86_400) for one in ends(loaded.own, loaded.twin.trusted or ())
    }
    assert found == {"own": 20, "ca": 40}
    assert not [*ends((), loaded.twin.trusted or ())]


def test_sv_5_a_handshake_reads_no_file_again(tmp_path: Path) -> None:
    ca = Authority("CN=ca")
    own = {**ca.issue(by_rsa=True).pem_keystore(tmp_path / "o.pem"), **ca.pem_truststore(tmp_path / "ca.pem")}
    loaded = TlsConfig.of(own).load_server()
    for path in tmp_path.iterdir():
        path.unlink()
    assert refused(loaded, loaded.twin, "localhost", NOW) is None


@pytest.mark.parametrize("host", ["", "0.0.0.0", "[::]", "::"])
def test_sv_5_where_a_listener_has_no_name_of_its_own_none_is_wanted(tmp_path: Path, host: str) -> None:
    ca = Authority("CN=ca")
    own = {**ca.issue(hosts=()).pem_keystore(tmp_path / "o.pem"), **ca.pem_truststore(tmp_path / "ca.pem")}
    assert judged(Pair(own, own, host)) is None
    assert judged(Pair(own, own, "localhost")) is not None


@pytest.mark.release
def test_sv_5_the_recorded_handshakes_are_those_of_kafka_now() -> None:
    assert ask_java() == recorded()


@for_each(
    "hosts, name, wanted",
    [
        (("kafka.example.com", "*.kafka.example.com"), "broker-1.kafka.example.com", True),
        (("*.kafka.example.com",), "BROKER-1.Kafka.example.com", True),
        (("*.Kafka.example.com",), "broker-1.kafka.example.com", True),
        (("broker-1.kafka.example.com",), "broker-1.kafka.example.com", True),
        (("broker-1.kafka.example.com",), "broker-2.kafka.example.com", False),
        (("kafka.example.com",), "broker-1.kafka.example.com", False),
        (("*.example.com",), "broker-1.kafka.example.com", False),
        (("broker-*.kafka.example.com",), "broker-1.kafka.example.com", False),
        (("127.0.0.1", "front"), "broker-1.front", False),
    ],
)
def test_kr_9_a_certificate_is_taken_for_its_names_and_for_one_label_in_place_of_a_wildcard(
    hosts: tuple[str, ...], name: str, *, wanted: bool
) -> None:
    assert has_name(dns_names(Authority("CN=ca").issue("CN=*.other.com", hosts=hosts).der), name) is wanted


def test_kr_9_the_common_name_counts_where_there_is_no_dns_name() -> None:
    assert dns_names(Authority("CN=ca").issue("CN=*.front", hosts=("127.0.0.1",)).der) == {"*.front"}
