"""SASL GSSAPI (Kerberos, RFC 4752) with MIT's or Heimdal's library, by the package gssapi (the extra `kerberos`).

    client                     server
    -------------------------  ----------------------------------------------------------------
    its ticket                 its answer; with mutual authentication one more token of the client, which is empty
    (an empty token)           the security layers that it has, wrapped: none (01 00 00 00)
    the layer, wrapped         nothing: the client is known

The client's authorization id is left out: the name is that of its ticket. One thread reads a keytab and checks tickets,
by turns of the clients' addresses. Source: GssKrb5Server of the JDK; SaslServerCallbackHandler, KerberosError (Kafka
3.9).
"""

from typing import Any

import msgspec

from kafka_reassign_rpc.core.quotas.client_quotas import LONGEST_NAME
from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.sasl.checks_in_turns import ChecksInTurns, TooBusy
from kafka_reassign_rpc.security.sasl.kerberos_names import KerberosRule, NoShortName, short_name
from kafka_reassign_rpc.security.sasl.mechanism import SaslError, SaslRetry

NO_LAYER = b"\x01\x00\x00\x00"
LAYER_BYTES = 4
LONGEST_TOKEN = 131_072
"""In bytes. A ticket has 64 KiB at most, groups of Active Directory included."""
LONGEST_PRINCIPAL = 2 * LONGEST_NAME
"""In characters: a name, and its realm. Rules are the operator's patterns; they see nothing longer."""
MOST_STEPS = 5
"""Tokens of a client until its ticket is accepted; Kerberos needs one or two."""
KRB5_ERRORS = -1765328384
"""The first of MIT's error codes: Kerberos's own (RFC 4120) follow."""
MOST_ERRORS = 256
RETRIABLE = frozenset({21, 33, 34})
"""CLIENT_NOT_YET_VALID, TICKET_NOT_YET_VALID, REQUEST_IS_A_REPLAY."""


class KerberosConfig(msgspec.Struct, frozen=True):
    """`setting` names where it is."""

    setting: str
    principal: str
    keytab: str
    rules: tuple[KerberosRule, ...]


def default_realm() -> str:
    """Empty if there is none, or no Kerberos."""
    try:
        from gssapi.raw.misc import GSSError
    except (ImportError, OSError):
        return ""
    try:
        return _default_realm()
    except GSSError:
        return ""


def _default_realm() -> str:
    import gssapi

    local = gssapi.Name("user", gssapi.NameType.kerberos_principal).canonicalize(gssapi.MechType.kerberos)
    return str(local).rpartition("@")[2]


class KerberosIdentity:
    def __init__(self, config: KerberosConfig) -> None:
        self._config = config
        self._checks = ChecksInTurns("kerberos")
        self._credentials: Any = None
        self._default_realm = ""

    async def load(self) -> None:
        """Raises BadSetting."""
        await self._checks.run("", self._load)

    def close(self) -> None:
        self._checks.close()

    def _load(self) -> None:
        config = self._config
        try:
            import gssapi
            from gssapi.raw.misc import GSSError
        except ImportError:
            raise BadSetting(
                f"{config.setting}: GSSAPI needs the extra [kerberos]: pip install 'kafka-reassign-rpc[kerberos]'"
            ) from None
        try:
            name = gssapi.Name(config.principal, gssapi.NameType.kerberos_principal)
            store: Any = {"keytab": config.keytab}
            kind = gssapi.MechType.kerberos  # not SPNEGO
            self._credentials = gssapi.Credentials(usage="accept", name=name, mechs=[kind], store=store)
            self._default_realm = _default_realm()
        except GSSError as error:
            text = f"{config.setting}: {config.keytab} has no key of {config.principal}: {error}"
            raise BadSetting(text) from None

    async def step(self, exchange: "_Exchange", token: bytes, address: str) -> bytes:
        """Raises SaslError."""
        try:
            return await self._checks.run(address, lambda: exchange.step(token))
        except TooBusy:
            raise SaslRetry("Kerberos: too many tickets wait for their check") from None

    def exchange(self) -> "_Exchange":
        return _Exchange(self._credentials)

    def short_name(self, principal: str) -> str:
        """Raises NoShortName."""
        if len(principal) > LONGEST_PRINCIPAL:
            raise NoShortName("the principal is longer than any user's")
        found = short_name(principal, self._config.rules, self._default_realm)
        if len(found) > LONGEST_NAME:
            raise NoShortName("the name is longer than any user's")
        return found


class _Exchange:
    """In the thread. `principal` is known at its end."""

    def __init__(self, credentials: Any) -> None:
        self._credentials = credentials
        self._context: Any = None
        self._steps = 0
        self._offered = False
        self.principal = ""

    def step(self, token: bytes) -> bytes:
        import gssapi
        from gssapi.raw.misc import GSSError

        try:
            if self._context is None:
                self._context = gssapi.SecurityContext(creds=self._credentials, usage="accept")
                self._context.__DEFER_STEP_ERRORS__ = False  # a ticket that is refused is no step: Java answers it so
            return self._step(token)
        except GSSError as error:
            kind = (error.min_code - KRB5_ERRORS) & 0xFFFFFFFF
            known = f"error {kind}" if kind < MOST_ERRORS and error.min_code else f"GSS-API error {error.maj_code:#x}"
            raise (SaslRetry if kind in RETRIABLE else SaslError)(f"Kerberos: {known}") from None

    def _step(self, token: bytes) -> bytes:
        context = self._context
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise SaslError("Kerberos: the exchange does not end")
        if not context.complete:
            answer = context.step(token) or b""
            if not answer and not context.complete:
                raise SaslError("Kerberos: no ticket")  # MIT's library takes an answer or an error for a step
            if answer:
                return bytes(answer)
            token = b""
        if not self._offered:
            if token:
                raise SaslError("Kerberos: a token where none is expected")
            self._offered = True
            return bytes(context.wrap(NO_LAYER, False).message)
        chosen = context.unwrap(token).message
        if len(chosen) < LAYER_BYTES or chosen[0] != NO_LAYER[0]:
            raise SaslError("Kerberos: the client wants a security layer")
        try:
            self.principal = str(context.initiator_name)
        except UnicodeDecodeError:
            raise SaslError("Kerberos: the principal is not UTF-8") from None
        return b""


class GssapiSaslServer:
    expires_at = None

    def __init__(self, identity: KerberosIdentity, address: str) -> None:
        self._identity = identity
        self._address = address
        self._exchange = identity.exchange()
        self.complete = False
        self.authorization_id = ""

    async def evaluate(self, token: bytes) -> bytes:
        if len(token) > LONGEST_TOKEN:
            raise SaslError("Kerberos: a token that is longer than any")
        answer = await self._identity.step(self._exchange, token, self._address)
        if self._exchange.principal:
            try:
                self.authorization_id = self._identity.short_name(self._exchange.principal)
            except NoShortName as error:
                raise SaslRetry(str(error)) from None  # Kafka closes the connection without an answer
            self.complete = True
        return answer
