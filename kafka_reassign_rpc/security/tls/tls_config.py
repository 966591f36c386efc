"""From `ssl.*` properties to TLS contexts and principals; the keystore and truststore that they name, as
DefaultSslEngineFactory makes them (createKeystore, createTruststore; Kafka 3.9).
"""

import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.core.quotas.client_quotas import LONGEST_NAME
from kafka_reassign_rpc.security.properties import BadSetting, Password, Properties
from kafka_reassign_rpc.security.tls.certificate_stores import (
    LARGEST_STORE,
    BadDer,
    BadKeystore,
    KeyAndChain,
    is_binary,
    is_pem,
    pem_certificates,
    pem_key,
    read_key,
    read_trusted,
)
from kafka_reassign_rpc.security.tls.context_parts import Offered, load_key, offered, warn_of_end
from kafka_reassign_rpc.security.tls.own_handshake import NO_CHECK_TIME, Loaded, Twin
from kafka_reassign_rpc.security.tls.principal_mapping import (
    NoMatchingRule,
    Rule,
    parse_rules,
    principal_name,
    subject_name,
)
from kafka_reassign_rpc.security.tls.server_object import NamedServerObject, ServerObject, keep_name
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


CLIENT_AUTH = {"required": ssl.CERT_REQUIRED, "requested": ssl.CERT_OPTIONAL, "none": ssl.CERT_NONE}


class TlsConfig(msgspec.Struct, frozen=True):
    """place        the prefix of its settings, for messages
    keystore     the own key and certificates, or None (clients without a certificate)
    truststore   None: the certificates that the system trusts
    client_auth  what a server asks of its clients
    checks_host  a client checks that the server's certificate has its host name
    """

    place: str
    keystore: KeystoreSettings | None
    truststore: TruststoreSettings | None
    offered: Offered
    client_auth: ssl.VerifyMode
    checks_host: bool
    rules: tuple[Rule, ...]

    @classmethod
    def of(cls, properties: Mapping[str, str], prefixes: tuple[str, ...] = ("",)) -> "TlsConfig":
        """`ssl.*` properties are read under the prefixes in their order: `("listener.name.a.", "")` for a listener,
        `("zookeeper.",)` for ZooKeeper. Reads no file. Raises BadSetting.
        """
        found = Properties(properties, prefixes)
        client_auth = (found.text("ssl.client.auth") or "none").lower()
        if client_auth not in CLIENT_AUTH:
            raise BadSetting(
                f"{found.name('ssl.client.auth')}: expected one of {', '.join(CLIENT_AUTH)}, got {told(client_auth)}"
            )
        identification = found.text("ssl.endpoint.identification.algorithm")
        if identification is not None and identification.lower() not in ("https", ""):
            name = found.name("ssl.endpoint.identification.algorithm")
            raise BadSetting(f"{name}: expected https or nothing, got {told(identification)}")
        rules = found.text("ssl.principal.mapping.rules")
        try:
            parsed = parse_rules("DEFAULT" if rules is None else rules)
        except ValueError as error:
            raise BadSetting(f"{found.name('ssl.principal.mapping.rules')}: {error}") from None
        return cls(
            place=prefixes[0],
            keystore=keystore_settings(found),
            truststore=truststore_settings(found),
            offered=offered(found),
            client_auth=CLIENT_AUTH[client_auth],
            checks_host=identification is None or bool(identification),
            rules=parsed,
        )

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(store.path for store in (self.keystore, self.truststore) if store is not None and store.path)

    def load_server(self, *, keeps_names: bool = False) -> Loaded:
        """Reads the files. Raises BadSetting. `keeps_names`: those that clients connect to (`asked_name`)."""
        if self.keystore is None:
            raise BadSetting(f"{self.place}ssl.keystore.location: TLS needs a keystore with the server's key")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sslobject_class = NamedServerObject if keeps_names else ServerObject
        if keeps_names:
            context.sni_callback = keep_name
            _never_resume(context)  # an ended session has the name that it began with
        self.offered.apply(context)
        context.options |= ssl.OP_NO_RENEGOTIATION  # handshakes are limited, and this would be one
        own = self.keystore.load()
        load_key(context, own, self.keystore.source)
        warn_of_end(own.chain[0], self.keystore.source)
        context.verify_mode = self.client_auth
        if self.client_auth == ssl.CERT_NONE:
            return Loaded(context, own.chain, self._servers_twin(own))
        self._trust(context, self._trusted())
        _never_resume(context)  # a client's certificate is checked at each connection
        return Loaded(context, own.chain, self._servers_twin(own))

    def load_client(self) -> Loaded:
        """Reads the files; pass `server_hostname` with its context. Raises BadSetting."""
        own, trusted = None if self.keystore is None else self.keystore.load(), self._trusted()
        context = self._client_context(own, trusted)
        return Loaded(context, () if own is None else own.chain, self._twin(own, trusted))

    def _servers_twin(self, own: KeyAndChain) -> Twin:
        """A truststore that is not needed may be broken."""
        try:
            return self._twin(own, self._trusted())
        except BadSetting as error:
            return Twin(None, (), problem=str(error))

    def _twin(self, own: KeyAndChain | None, trusted: tuple[bytes, ...] | None) -> Twin:
        context = self._client_context(own, trusted)
        context.verify_flags |= NO_CHECK_TIME
        return Twin(context, trusted, self.checks_host, own is not None)

    def _client_context(self, own: KeyAndChain | None, trusted: tuple[bytes, ...] | None) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.offered.apply(context)
        context.check_hostname = self.checks_host
        if own is not None and self.keystore is not None:
            load_key(context, own, self.keystore.source)
        self._trust(context, trusted)
        return context

    def principal_of(self, certificate: bytes | None) -> str:
        """The principal of a certificate (DER), as `User:CN=alice`; ANONYMOUS without one. Raises NoMatchingRule."""
        if certificate is None:
            return ANONYMOUS
        try:
            name = subject_name(certificate)
        except (BadDer, ValueError, IndexError) as error:
            raise NoMatchingRule(f"the subject of the certificate cannot be read: {error}") from None
        found = principal_name(self.rules, name) if len(name) <= LONGEST_NAME else name
        if len(found) > LONGEST_NAME:
            raise NoMatchingRule(f"the certificate's name has {len(found)} characters, a user's at most {LONGEST_NAME}")
        return f"User:{found}"

    def _trusted(self) -> tuple[bytes, ...] | None:
        """None: what the system trusts."""
        return None if self.truststore is None else self.truststore.load()

    def _trust(self, context: ssl.SSLContext, trusted: tuple[bytes, ...] | None) -> None:
        """Every certificate of a truststore is trusted by itself, as in Java, a CA's or not."""
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if trusted is None or self.truststore is None:
            context.load_default_certs(
                ssl.Purpose.CLIENT_AUTH if context.protocol == ssl.PROTOCOL_TLS_SERVER else ssl.Purpose.SERVER_AUTH
            )
            return
        try:
            context.load_verify_locations(cadata=b"".join(trusted))
        except ssl.SSLError as error:
            raise BadSetting(f"{self.truststore.source}: OpenSSL takes no such certificate: {error.reason}") from None


def _never_resume(context: ssl.SSLContext) -> None:
    """Each connection of this server has a whole handshake."""
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
