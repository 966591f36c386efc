"""Keystores and truststores: what keytool and openssl write is read; what cannot be used is named in one line."""

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_reassign_rpc.security.properties import BadSetting, Password
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.security.tls.certificate_stores import read_key, read_trusted
from kafka_reassign_rpc.security.tls.principal_mapping import subject_name
from tests.certificates import PASSWORD, Authority, Issued
from tests.security.tls import keytool_files
from tests.security.tls.keytool_files import CA_NAME, KEY_PASSWORD, NAME, RECORDED, STORE_PASSWORD
from tests.tables import for_each


@pytest.fixture(scope="module")
def ca() -> Authority:
    return Authority("CN=ca")


@pytest.fixture(scope="module")
def server(ca: Authority) -> Issued:
    return ca.issue("CN=broker")


def check_stores(folder: Path) -> None:
    for name, key_password in (("key.jks", KEY_PASSWORD), ("key.p12", None), ("key.p12", "of the key")):
        own = read_key((folder / name).read_bytes(), STORE_PASSWORD, key_password)
        assert [subject_name(one) for one in own.chain] == [NAME]
    both = folder / "both.jks"
    assert [subject_name(one) for one in read_key(both.read_bytes(), STORE_PASSWORD, None).chain] == [CA_NAME]
    for name, password in (
        ("trust.jks", STORE_PASSWORD),
        ("trust.jks", None),
        ("trust.p12", STORE_PASSWORD),
        ("both.jks", None),
    ):
        trusted = read_trusted((folder / name).read_bytes(), password)
        assert {subject_name(one) for one in trusted} == {NAME, CA_NAME}, name


def test_sv_5_stores_as_keytool_writes_them_are_read() -> None:
    check_stores(RECORDED)


@pytest.mark.release
def test_sv_5_stores_that_keytool_writes_now_are_read(tmp_path: Path) -> None:
    keytool_files.write(tmp_path)
    check_stores(tmp_path)


@for_each(("store", "password"), [("key.jks", KEY_PASSWORD), ("key.p12", None)], ids=["JKS", "PKCS12"])
@for_each("kind", ["JKS", "PKCS12", "PEM", None])
def test_sv_5_a_store_is_what_its_bytes_say_whatever_its_type(
    store: str, password: str | None, kind: str | None
) -> None:
    properties = {"ssl.keystore.location": str(RECORDED / store), "ssl.keystore.password": STORE_PASSWORD}
    if password:
        properties["ssl.key.password"] = password
    if kind == "PEM":  # where Kafka asks for no password of the store
        with pytest.raises(BadSetting, match=r"^ssl\.keystore\.password: only ssl\.key\.password applies to PEM$"):
            TlsConfig.of({**properties, "ssl.keystore.type": kind})
        return
    assert TlsConfig.of({**properties, **({"ssl.keystore.type": kind} if kind else {})}).load_server().context


def one_line(text: str) -> str:
    """PEM as people write it into a properties file: blanks where lines end."""
    return " ".join(text.split("\n"))


def with_attributes(text: str) -> str:
    """PEM as `openssl pkcs12` writes it."""
    return f"Bag Attributes\n    friendlyName: own\nsubject=CN = broker\n{text}\n"


@pytest.mark.parametrize("form", [str, one_line, with_attributes], ids=["lines", "one-line", "openssl"])
@pytest.mark.parametrize("password", [None, "of the key"])
def test_sv_5_pem_may_be_in_the_settings(
    server: Issued, ca: Authority, form: Callable[[str], str], password: str | None
) -> None:
    properties = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": form(server.key_pem(password)),
        "ssl.keystore.certificate.chain": form(server.certificates_pem),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": form(ca.own.certificates_pem),
        "ssl.client.auth": "required",
    }
    if password:
        properties["ssl.key.password"] = password
    context = TlsConfig.of(properties).load_server().context
    assert len(context.get_ca_certs()) == 1
    assert TlsConfig.of(properties).files == ()


def test_sv_5_the_chain_is_sent_in_its_order_with_nothing_else(ca: Authority) -> None:
    between = Authority("CN=between", ca)
    own = Authority("CN=below", between).issue("CN=broker")
    assert len(own.chain) == 3
    pem = own.certificates_pem.split("-----BEGIN")
    shuffled = "-----BEGIN".join((own.key_pem(), pem[1], pem[3], pem[2]))
    chain = read_key((shuffled + Authority("CN=stranger").own.certificates_pem).encode(), None, None).chain
    assert [subject_name(one) for one in chain] == ["CN=broker", "CN=below", "CN=between"]


def test_sv_5_a_keystore_that_is_truststore_too_trusts_its_own_certificate_and_none_above_it(
    tmp_path: Path, ca: Authority
) -> None:
    """So says Java: otherwise each certificate of that authority would let a client in. keytool writes a certificate
    that is above a key's and trusted as well twice.
    """
    own = Authority("CN=below", Authority("CN=between", ca)).issue("CN=broker")
    for trusted, names in (((), ["CN=broker"]), (own.chain[1:2], ["CN=broker", "CN=below"])):
        path = tmp_path / "both.p12"
        own._replace(chain=(*own.chain, *trusted)).pkcs12_keystore(path)
        assert [subject_name(one) for one in read_trusted(path.read_bytes(), PASSWORD)] == names
        chain = read_key(path.read_bytes(), PASSWORD, None).chain
        assert [subject_name(one) for one in chain] == ["CN=broker", "CN=below", "CN=between"]


BAD_KEYSTORES: dict[str, tuple[bytes, dict[str, str], str]] = {
    "empty": (b"", {"ssl.keystore.password": "x"}, "it is empty"),
    "blank PEM": (b"\n\n", {"ssl.keystore.type": "PEM"}, "it is empty"),
    "text": (b"no keystore at all", {"ssl.keystore.password": "x"}, "it is neither PEM nor PKCS12 nor JKS"),
    "JKS with a wrong password": (
        (RECORDED / "key.jks").read_bytes(),
        {"ssl.keystore.password": "wrongword"},
        "the password is wrong, or the file is broken",
    ),
    "JKS with a wrong key password": (
        (RECORDED / "key.jks").read_bytes(),
        {"ssl.keystore.password": STORE_PASSWORD, "ssl.key.password": "wrongword"},
        "the password of the key is wrong",
    ),
    "JKS cut short": (
        (RECORDED / "key.jks").read_bytes()[:-40],
        {"ssl.keystore.password": STORE_PASSWORD},
        "the password is wrong, or the file is broken",
    ),
    "PKCS12 with a wrong password": (
        (RECORDED / "key.p12").read_bytes(),
        {"ssl.keystore.password": "wrongword"},
        "the password is wrong, or the file is broken",
    ),
    "PKCS12 cut short": (
        (RECORDED / "key.p12").read_bytes()[:-40],
        {"ssl.keystore.password": STORE_PASSWORD},
        "the password is wrong, or the file is broken",
    ),
    "PKCS12 truststore": (
        (RECORDED / "trust.p12").read_bytes(),
        {"ssl.keystore.password": STORE_PASSWORD},
        "it has certificates, but no private key: is it a truststore?",
    ),
    "JKS truststore": (
        (RECORDED / "trust.jks").read_bytes(),
        {"ssl.keystore.password": STORE_PASSWORD},
        "it has certificates, but no private key: is it a truststore?",
    ),
    "JCEKS": (
        (RECORDED / "key.jceks").read_bytes(),
        {"ssl.keystore.password": STORE_PASSWORD},
        "it is a JCEKS keystore, which only Java reads: keytool -importkeystore -deststoretype pkcs12 converts it",
    ),
    "without a password": ((RECORDED / "key.p12").read_bytes(), {}, "ssl.keystore.password is not set"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_KEYSTORES)
def test_sv_5_a_keystore_that_cannot_be_used_is_named_with_setting_and_path(tmp_path: Path, name: str) -> None:
    data, properties, why = BAD_KEYSTORES[name]
    path = tmp_path / "keystore"
    path.write_bytes(data)
    with pytest.raises(BadSetting) as error:
        TlsConfig.of({"ssl.keystore.location": str(path), **properties}).load_server()
    assert str(error.value) == f"ssl.keystore.location: {path}: {why}"


def test_sv_5_pem_keystores_that_cannot_be_used_are_refused_with_the_reason(
    tmp_path: Path, ca: Authority, server: Issued
) -> None:
    path = tmp_path / "server.pem"
    other = ca.issue("CN=other")
    cases = {
        "it has no private key in PEM": server.certificates_pem,
        "it has no certificate in PEM": server.key_pem(),
        "one private key is expected, it has 2": server.key_pem() * 2 + server.certificates_pem,
        "its key is encrypted, and no password is given": server.key_pem("x") + server.certificates_pem,
        "its key does not belong to its first certificate": server.key_pem() + other.certificates_pem,
        "it has a broken certificate": server.key_pem() + server.certificates_pem.replace("\nMI", "\nMA", 1),
        "its key is broken": server.key_pem().replace("\nMI", "\nMA", 1) + server.certificates_pem,
    }
    for why, text in cases.items():
        path.write_text(text)
        with pytest.raises(BadSetting) as error:
            TlsConfig.of({"ssl.keystore.type": "PEM", "ssl.keystore.location": str(path)}).load_server()
        assert str(error.value) == f"ssl.keystore.location: {path}: {why}"
    path.write_text(server.key_pem("right") + server.certificates_pem)
    with pytest.raises(BadSetting, match="the password of the key is wrong, or the key is broken"):
        TlsConfig.of(
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(path), "ssl.key.password": "wrong"}
        ).load_server()


def test_sv_5_a_truststore_that_cannot_be_used_is_refused_with_the_reason(tmp_path: Path, server: Issued) -> None:
    own = server.pem_keystore(tmp_path / "server.pem")
    path = tmp_path / "trust"
    trust = {"ssl.truststore.location": str(path), "ssl.client.auth": "required"}
    jks, pkcs12 = (RECORDED / "trust.jks").read_bytes(), (RECORDED / "trust.p12").read_bytes()
    place = f"ssl.truststore.location: {path}:"
    for data, password, why in (
        (None, None, f"ssl.truststore.location: cannot read {path}: No such file or directory"),
        (b"", None, f"{place} it is empty"),
        (pkcs12, None, f"{place} no password is given, or the file is broken"),
        (pkcs12, "wrong", f"{place} the password is wrong, or the file is broken"),
        (jks[:-30], None, f"{place} the file is cut short or broken"),
        (server.key_pem().encode(), None, f"{place} it has no certificate in PEM"),
        (server.certificates_pem.encode(), "x", f"ssl.truststore.password: {path} is PEM, and needs no password"),
    ):
        if data is not None:
            path.write_bytes(data)
        given = {**own, **trust, **({} if password is None else {"ssl.truststore.password": password})}
        with pytest.raises(BadSetting) as error:
            TlsConfig.of(given).load_server()
        assert str(error.value) == why


@for_each(
    ("properties", "why"),
    [
        ({}, "ssl.keystore.location: TLS needs a keystore with the server's key"),
        ({"ssl.keystore.password": "x"}, "ssl.keystore.password: ssl.keystore.location is not set"),
        ({"ssl.truststore.password": "x"}, "ssl.truststore.password: ssl.truststore.location is not set"),
        ({"ssl.keystore.key": "x"}, "ssl.keystore.key: ssl.keystore.certificate.chain is missing"),
        ({"ssl.keystore.certificate.chain": "x"}, "ssl.keystore.certificate.chain: ssl.keystore.key is missing"),
        (
            {"ssl.keystore.certificate.chain": "x", "ssl.keystore.key": "x"},
            "ssl.keystore.key: it needs ssl.keystore.type=PEM",
        ),
        ({"ssl.truststore.certificates": "x"}, "ssl.truststore.certificates: it needs ssl.truststore.type=PEM"),
        ({"ssl.keystore.type": "BKS"}, "ssl.keystore.type: expected one of PEM, PKCS12, JKS, got [hidden]"),
        ({"ssl.client.auth": "maybe"}, "ssl.client.auth: expected one of required, requested, none, got [hidden]"),
        ({"ssl.protocol": "TLSv9"}, "ssl.protocol: expected one of TLS, TLSv1.2, TLSv1.3, got [hidden]"),
        (
            {"ssl.enabled.protocols": "TLSv1.2,TLSv4"},
            "ssl.enabled.protocols: expected some of TLSv1.2, TLSv1.3, got [hidden]",
        ),
        (
            {"ssl.enabled.protocols": "TLSv1,TLSv1.1"},
            "ssl.enabled.protocols: expected TLSv1.2 or TLSv1.3, got TLSv1, TLSv1.1, which are not secure",
        ),
        ({"ssl.cipher.suites": "TLS_NO_SUCH"}, "ssl.cipher.suites: this OpenSSL has none of TLS_NO_SUCH"),
        (
            {"ssl.cipher.suites": "TLS_AES_128_GCM_SHA256", "ssl.enabled.protocols": "TLSv1.2"},
            "ssl.cipher.suites: none of these suites is of a protocol in ssl.enabled.protocols",
        ),
        (
            {"ssl.endpoint.identification.algorithm": "ldaps"},
            "ssl.endpoint.identification.algorithm: expected https or nothing, got [hidden]",
        ),
        (
            {"ssl.principal.mapping.rules": "RULE:^CN=(.*$/$1/"},
            "ssl.principal.mapping.rules: rule 1: the pattern cannot be read: missing ), unterminated subpattern"
            " at position 4",
        ),
    ],
)  # fmt: skip
def test_sv_5_settings_that_make_no_sense_are_refused_with_the_reason(properties: dict[str, str], why: str) -> None:
    with pytest.raises(BadSetting) as error:
        TlsConfig.of(properties).load_server()
    assert str(error.value) == why


def test_sv_5_a_listeners_own_settings_come_first_and_errors_name_them(tmp_path: Path, server: Issued) -> None:
    own = {f"listener.name.internal.{name}": value for name, value in server.pem_keystore(tmp_path / "a.pem").items()}
    general = {"ssl.keystore.location": "/nowhere", "ssl.keystore.type": "JKS", "ssl.client.auth": "required"}
    config = TlsConfig.of({**general, **own}, ("listener.name.internal.", ""))
    assert config.client_auth == ssl.CERT_REQUIRED
    assert config.files == (tmp_path / "a.pem",)
    (tmp_path / "a.pem").write_text("")
    with pytest.raises(BadSetting, match=r"^listener\.name\.internal\.ssl\.keystore\.location: .*a\.pem: it is empty$"):
        config.load_server()
    with pytest.raises(BadSetting, match=r"^zookeeper\.ssl\.keystore\.location: "):
        TlsConfig.of(general, ("zookeeper.",)).load_server()


def test_sv_5_secrets_do_not_show(tmp_path: Path, server: Issued) -> None:
    assert f"{Password(PASSWORD)} {Password(PASSWORD)!r}" == "[hidden] [hidden]"
    config = TlsConfig.of(
        {
            **server.pkcs12_keystore(tmp_path / "a.p12"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": "a secret",
        }
    )
    assert PASSWORD not in repr(config)
    assert "a secret" not in repr(config)


def test_sv_5_a_key_is_not_written_to_any_folder(
    tmp_path: Path, server: Issued, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = TlsConfig.of(server.pkcs12_keystore(tmp_path / "a.p12"))
    nowhere = tmp_path / "read-only"
    nowhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "is no folder"))
    assert config.load_server().context
