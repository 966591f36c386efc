"""The keystore and truststore that `ssl.*` settings name, as DefaultSslEngineFactory makes them (createKeystore,
createTruststore; Kafka 3.9).
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from kafka_reassign_rpc.security.bad_setting import BadSetting, Password
from kafka_reassign_rpc.security.properties import Properties
from kafka_reassign_rpc.security.tls.certificate_stores import (
    LARGEST_STORE,
    KeyAndChain,
    is_binary,
    is_pem,
    pem_certificates,
    pem_key,
    read_key,
    read_trusted,
)
from kafka_reassign_rpc.security.tls.java_keystore import BadKeystore
from kafka_reassign_rpc.support.files import read_bounded
from kafka_reassign_rpc.support.secrecy import told, told_path

PEM = "PEM"
TYPES = (PEM, "PKCS12", "JKS")

T = TypeVar("T")


class KeystoreSettings(msgspec.Struct, frozen=True):
    source: str
    path: Path | None = None
    password: Password | None = None
    key_password: Password | None = None
    key: Password | None = None
    chain: Password | None = None
    password_name: str = "ssl.keystore.password"  # noqa: S105

    def load(self) -> KeyAndChain:
        """Reads the file. Raises BadSetting."""
        key_password = self.key_password.value if self.key_password else None
        if self.path is None:
            assert self.key is not None
            assert self.chain is not None
            key, chain = self.key.value, self.chain.value
            return _named(self.source, lambda: pem_key(key, chain, key_password))
        data = read_store(self.source, self.path)
        if is_pem(data) and self.password is not None:
            raise BadSetting(f"{self.password_name}: {self.path} is PEM: only ssl.key.password applies to it")
        if self.password is None and is_binary(data):
            raise BadSetting(f"{self.source}: {self.path}: {self.password_name} is not set")
        password = self.password.value if self.password else None
        return _named(f"{self.source}: {self.path}", lambda: read_key(data, password, key_password))


class TruststoreSettings(msgspec.Struct, frozen=True):
    source: str
    path: Path | None = None
    password: Password | None = None
    certificates: Password | None = None
    password_name: str = "ssl.truststore.password"  # noqa: S105

    def load(self) -> tuple[bytes, ...]:
        """Reads the file; returns DER. Raises BadSetting."""
        if self.path is None:
            assert self.certificates is not None
            certificates = self.certificates.value
            return _named(self.source, lambda: pem_certificates(certificates))
        data = read_store(self.source, self.path)
        if is_pem(data) and self.password is not None:
            raise BadSetting(f"{self.password_name}: {self.path} is PEM, and needs no password")
        password = self.password.value if self.password else None
        return _named(f"{self.source}: {self.path}", lambda: read_trusted(data, password))


def keystore_settings(properties: Properties) -> KeystoreSettings | None:
    """Raises BadSetting."""
    kind = _type(properties, "ssl.keystore.type")
    path = properties.text("ssl.keystore.location")
    password, key_password = properties.password("ssl.keystore.password"), properties.password("ssl.key.password")
    is_used = path is not None or properties.text("ssl.keystore.key") is not None
    if is_used and key_password is not None and not key_password.value:
        raise BadSetting(f"{properties.name('ssl.key.password')}: it is blank, and no key has a blank password")
    key, chain = properties.password("ssl.keystore.key"), properties.password("ssl.keystore.certificate.chain")
    location, password_name = properties.name("ssl.keystore.location"), properties.name("ssl.keystore.password")
    key_name, chain_name = properties.name("ssl.keystore.key"), properties.name("ssl.keystore.certificate.chain")
    if key is not None or chain is not None:
        name = key_name if key is not None else chain_name
        if key is None or chain is None:
            raise BadSetting(f"{name}: {chain_name if chain is None else key_name} is missing")
        if kind != PEM:
            raise BadSetting(f"{name}: it needs {properties.name('ssl.keystore.type')}=PEM")
        if path is not None:
            raise BadSetting(f"{name}: {location} is set as well")
        if password is not None:
            raise BadSetting(f"{password_name}: only ssl.key.password applies to PEM")
        return KeystoreSettings(name, None, None, key_password, key, chain)
    if path is None:
        if password is not None:
            raise BadSetting(f"{password_name}: {location} is not set")
        return None
    if kind == PEM and password is not None:
        raise BadSetting(f"{password_name}: only ssl.key.password applies to PEM")
    return KeystoreSettings(location, Path(path), password, key_password, password_name=password_name)


def truststore_settings(properties: Properties) -> TruststoreSettings | None:
    """Raises BadSetting."""
    kind = _type(properties, "ssl.truststore.type")
    path, password = properties.text("ssl.truststore.location"), properties.password("ssl.truststore.password")
    certificates = properties.password("ssl.truststore.certificates")
    location, password_name = properties.name("ssl.truststore.location"), properties.name("ssl.truststore.password")
    if certificates is not None:
        name = properties.name("ssl.truststore.certificates")
        if kind != PEM:
            raise BadSetting(f"{name}: it needs {properties.name('ssl.truststore.type')}=PEM")
        if path is not None:
            raise BadSetting(f"{name}: {location} is set as well")
        if password is not None:
            raise BadSetting(f"{password_name}: PEM needs no password")
        return TruststoreSettings(name, certificates=certificates)
    if path is None:
        if password is not None:
            raise BadSetting(f"{password_name}: {location} is not set")
        return None
    if kind == PEM and password is not None:
        raise BadSetting(f"{password_name}: PEM needs no password")
    return TruststoreSettings(location, Path(path), password, password_name=password_name)


def read_store(source: str, path: Path) -> bytes:
    """Raises BadSetting."""
    if not path.name:
        raise BadSetting(f"{source}: it is blank, and TLS needs the file")
    try:
        return read_bounded(path, LARGEST_STORE)
    except OSError as error:
        raise BadSetting(f"{source}: cannot read {told_path(path)}: {error.strerror}") from None


def _type(properties: Properties, name: str) -> str | None:
    found = properties.text(name)
    if found is not None and found.upper() not in TYPES:
        raise BadSetting(f"{properties.name(name)}: expected one of {', '.join(TYPES)}, got {told(found)}")
    return None if found is None else found.upper()


def _named(place: str, load: Callable[[], T]) -> T:
    try:
        return load()
    except BadKeystore as error:
        raise BadSetting(f"{place}: {error}") from None
