"""SASL GSSAPI (Kerberos, RFC 4752) with MIT's or Heimdal's library, by the package gssapi (the extra `kerberos`).

    client                     server
    -------------------------  ----------------------------------------------------------------
    its ticket                 its answer; with mutual authentication one more token of the client, which is empty
    (an empty token)           the security layers that it has, wrapped: none (01 00 00 00)
    the layer, wrapped         nothing: the client is known

The client's authorization id is left out: the name is that of its ticket. One thread reads a keytab and checks tickets,
by turns of the clients' addresses. Source: GssKrb5Server of the JDK; SaslServerCallbackHandler, KerberosError (Kafka
3.9).

From a principal to a user's name: sasl.kerberos.principal.to.local.rules.

    DEFAULT                              the first part of a name of the default realm
    RULE:[n:format](regex)s/a/b/g/L      names with n parts; $0 the realm, $1 and $2 the parts; /L, /U: the case

Source: KerberosName, KerberosRule, KerberosShortNamer (Kafka 3.9). What Python's `re` cannot compile is refused.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from kafka_reassign_rpc.core.quotas.client_quotas import LONGEST_NAME
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.security.sasl.mechanism import ChecksInTurns, SaslError, SaslRetry, TooBusy

_RULE = re.compile(
    r"(?P<default>DEFAULT)|RULE:\[(?P<parts>\d+):(?P<format>[^\]]*)\](?:\((?P<match>[^)]*)\))?"
    r"(?:s/(?P<old>[^/]*)/(?P<new>[^/]*)/(?P<all>g)?)?/?(?P<case>[LU])?"
)
_NAME = re.compile(r"([^/@]*)(?:/([^/@]*))?@([^/@]*)")
_PARAMETER = re.compile(r"\$(\d*)")
_GROUP = re.compile(r"\\(.)|\$(\d)")
MOST_PARTS = 2


class NoShortName(ValueError): ...


class KerberosRule(msgspec.Struct, frozen=True):
    text: str
    parts: int = 0
    form: str = ""
    match: re.Pattern[str] | None = None
    old: re.Pattern[str] | None = None
    new: str = ""
    everywhere: bool = False
    case: str = ""

    def apply(self, realm: str, parts: Sequence[str], default_realm: str) -> str | None:
        """None: the rule is not for this principal. Raises NoShortName."""
        if not self.parts:
            found = parts[0] if realm == default_realm else None
        elif self.parts != len(parts):
            return None
        else:
            found = _PARAMETER.sub(lambda one: [realm, *parts][int(one[1])], self.form)
            if self.match is not None and self.match.fullmatch(found) is None:
                return None
            if self.old is not None:
                found = self.old.sub(self.new, found, count=0 if self.everywhere else 1)
        if found is not None and re.search("[/@]", found):
            raise NoShortName(f"the rule {self.text} gives a name with / or @")
        if found is not None and self.case:
            return found.lower() if self.case == "L" else found.upper()
        return found


def parse_rules(texts: Sequence[str] | None) -> tuple[KerberosRule, ...]:
    """None: no rules are set, which is DEFAULT; an empty list lets nobody in. Raises ValueError with the number of the
    rule.
    """
    if texts is None:
        return (KerberosRule("DEFAULT"),)
    return tuple(_parse(text, f"rule {place} is invalid") for place, text in enumerate(texts, 1))


def _parse(text: str, wrong: str) -> KerberosRule:
    match = _RULE.fullmatch(text)
    if match is None:
        raise ValueError(wrong)
    if match["default"]:
        return KerberosRule(text)
    parts = int(match["parts"][:3])
    given = _PARAMETER.findall(match["format"])
    if not all(one and int(one[:3]) <= parts for one in given) or not 0 < parts <= MOST_PARTS:
        raise ValueError(f"{wrong}: expected 1 or 2 parts, and $0 to one of them")
    references = [int(one) for _, one in _GROUP.findall(match["new"] or "") if one]
    try:
        pattern = None if match["match"] is None else re.compile(match["match"])
        old = None if match["old"] is None else re.compile(match["old"])
    except re.error as error:
        raise ValueError(f"{wrong}: {error}") from None
    if old is not None and max(references, default=0) > old.groups:
        raise ValueError(f"{wrong}: there is no such group")
    new = _GROUP.sub(lambda one: rf"\g<{one[2]}>" if one[2] else one[1].replace("\\", r"\\"), match["new"] or "")
    return KerberosRule(text, parts, match["format"], pattern, old, new, match["all"] is not None, match["case"] or "")


def short_name(principal: str, rules: Sequence[KerberosRule], default_realm: str) -> str:
    match = _NAME.fullmatch(principal)
    if match is None:
        if "@" in principal:
            raise NoShortName("the principal has more than two parts")
        return principal
    parts = [match[1]] if match[2] is None else [match[1], match[2]]
    for rule in rules:
        found = rule.apply(match[3], parts, default_realm)
        if found is not None:
            return found
    raise NoShortName(f"no rule is for principals of {match[3]} with {len(parts)} parts")


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
