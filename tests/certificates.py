"""Certificates for tests: an authority, what it issues, and stores of every kind. Elliptic keys, since they are quick.

ca = Authority("CN=ca")
server = ca.issue("CN=broker", hosts=("localhost", "127.0.0.1"))
properties = {**server.pem_keystore(tmp_path / "server.pem"), **ca.pem_truststore(tmp_path / "ca.pem")}
"""

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

HOSTS = ("localhost", "127.0.0.1")
PASSWORD = "a secret: of-the-store"
_KEY_USAGES = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
    *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)
_ROUNDS = 1_000
"""Of the password of a store: as many as protect one take a JVM that lives for seconds longer than all else."""
_YEAR = datetime.timedelta(days=365)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class Issued(NamedTuple):
    """A key and its certificates, its own first."""

    key: ec.EllipticCurvePrivateKey
    chain: tuple[x509.Certificate, ...]

    @property
    def der(self) -> bytes:
        return self.chain[0].public_bytes(Encoding.DER)

    @property
    def certificates_pem(self) -> str:
        return "".join(one.public_bytes(Encoding.PEM).decode() for one in self.chain)

    def key_pem(self, password: str | None = None) -> str:
        hidden: KeySerializationEncryption = NoEncryption()
        if password is not None:
            hidden = BestAvailableEncryption(password.encode())
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden).decode()

    def pem_keystore(self, path: Path, password: str | None = None) -> dict[str, str]:
        """Writes key and certificates into a file. Returns Kafka's properties for it."""
        path.write_text(self.key_pem(password) + self.certificates_pem)
        found = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(path)}
        return found if password is None else {**found, "ssl.key.password": password}

    def pkcs12_keystore(self, path: Path, password: str = PASSWORD) -> dict[str, str]:
        algorithm = pkcs12.PBES.PBESv2SHA256AndAES256CBC
        hidden = PrivateFormat.PKCS12.encryption_builder().kdf_rounds(_ROUNDS).key_cert_algorithm(algorithm)
        sealed = hidden.hmac_hash(hashes.SHA256()).build(password.encode())
        path.write_bytes(pkcs12.serialize_key_and_certificates(b"own", self.key, self.chain[0], self.chain[1:], sealed))
        return {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": str(path), "ssl.keystore.password": password}


class Authority:
    """A CA. `above`: the one that issued its certificate; itself where there is none."""

    def __init__(
        self,
        name: str,
        above: "Authority | None" = None,
        *,
        hosts: Sequence[str] = (),
        begins: datetime.timedelta = -_YEAR,
        ends: datetime.timedelta = _YEAR,
        renews: "Authority | None" = None,
        ca: bool = True,
    ) -> None:
        """`renews`: it has the key of that one. Without `ca` nobody should take what it issues."""
        self._name = x509.Name.from_rfc4514_string(name)
        key = ec.generate_private_key(ec.SECP256R1()) if renews is None else renews.own.key
        issued = (above or self)._issue(self._name, key, hosts, begins=begins, ends=ends, ca=ca)
        self.own = issued
        self._key = issued.key

    _key: ec.EllipticCurvePrivateKey
    own: Issued

    def issue(
        self,
        name: str = "CN=somebody",
        *,
        hosts: Sequence[str] = HOSTS,
        begins: datetime.timedelta = -_YEAR,
        ends: datetime.timedelta = _YEAR,
        usages: Sequence[x509.ObjectIdentifier] = (),
        key_usages: Sequence[str] = (),
        more: Sequence[x509.ExtensionType] = (),
        by_rsa: bool = False,
    ) -> Issued:
        """A new key with a certificate of this authority. Its chain has the intermediate authorities, without the
        first one. `begins` and `ends` are counted from now; `usages`: its extended key usage; `key_usages`: what the
        key may do, if not everything; `more`: other extensions."""
        key: Any = rsa.generate_private_key(65537, 2048) if by_rsa else ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name.from_rfc4514_string(name)
        return self._issue(
            subject, key, hosts, begins=begins, ends=ends, usages=usages, key_usages=key_usages, more=more
        )

    def pem_truststore(self, path: Path) -> dict[str, str]:
        path.write_text(self.own.chain[0].public_bytes(Encoding.PEM).decode())
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(path)}

    def _issue(
        self,
        name: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        hosts: Sequence[str],
        *,
        ca: bool = False,
        begins: datetime.timedelta = -_YEAR,
        ends: datetime.timedelta = _YEAR,
        usages: Sequence[x509.ObjectIdentifier] = (),
        key_usages: Sequence[str] = (),
        more: Sequence[x509.ExtensionType] = (),
    ) -> Issued:
        by_itself = not hasattr(self, "own")
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_now() + begins)
            .not_valid_after(_now() + ends)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        )
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([_host(one) for one in hosts]), critical=False)
        for one in more:
            builder = builder.add_extension(one, critical=False)
        if usages:
            builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        if key_usages:
            allowed = {name: name in key_usages for name in _KEY_USAGES}
            builder = builder.add_extension(x509.KeyUsage(**allowed), critical=True)
        certificate = builder.sign(key if by_itself else self._key, hashes.SHA256())
        above: tuple[x509.Certificate, ...] = ()
        if not by_itself and self.own.chain[0].issuer != self.own.chain[0].subject:
            above = self.own.chain
        return Issued(key, (certificate, *above))


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
