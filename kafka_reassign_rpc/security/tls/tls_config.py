"""From `ssl.*` properties to TLS contexts and principals."""

import ssl
from collections.abc import Mapping
from pathlib import Path

import msgspec

from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.core.quotas.client_quotas import LONGEST_NAME
from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.properties import Properties
from kafka_reassign_rpc.security.tls.certificate_stores import KeyAndChain
from kafka_reassign_rpc.security.tls.context_parts import Offered, load_key, offered, warn_of_end
from kafka_reassign_rpc.security.tls.der_reader import BadDer
from kafka_reassign_rpc.security.tls.distinguished_names import subject_name
from kafka_reassign_rpc.security.tls.own_handshake import NO_CHECK_TIME, Loaded, Twin
from kafka_reassign_rpc.security.tls.principal_mapping import NoMatchingRule, Rule, parse_rules, principal_name
from kafka_reassign_rpc.security.tls.server_object import NamedServerObject, ServerObject, keep_name
from kafka_reassign_rpc.security.tls.store_settings import (
    KeystoreSettings,
    TruststoreSettings,
    keystore_settings,
    truststore_settings,
)
from kafka_reassign_rpc.support.secrecy import told

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
