"""Whether a peer that is set up as this process is would take its certificate: a handshake in memory, and the dates.
And the names for which any client takes one (RFC 6125; Java: HostnameChecker, OpenSSL: X509_check_host).

Kafka's brokers do such a handshake with themselves before they start (SslFactory.SslEngineValidator). What is refused
here is what Java refuses: it looks at the dates of no certificate that a truststore holds, and wants a key that may
sign (sun.security.validator: PKIXValidator, EndEntityChecker). Nothing here reads a file.
"""

import ssl
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from ipaddress import ip_address
from typing import NamedTuple, TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NO_CHECK_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL."""
MOST_FLIGHTS = 20
"""A handshake needs fewer turns of both sides."""
_UNKNOWN_ISSUER = frozenset({2, 18, 19, 20, 21})
"""X509_V_ERR_…: no certificate of the truststore has issued it, by itself or by those that are sent with it."""
_WRONG_PURPOSE, _WRONG_NAME, _WRONG_ADDRESS = 26, 62, 64
_NO_CERTIFICATE = "PEER_DID_NOT_RETURN_A_CERTIFICATE"
_UNREADABLE = (
    ValueError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)
"""What `cryptography` says to what OpenSSL and Java pass over."""


_Extension = TypeVar("_Extension", bound=x509.ExtensionType)


class Twin(NamedTuple):
    """A client with the settings of one side, as it was when its files were last read.

    context       checks no dates; None where the settings cannot make one: `problem` says why
    checks_host   it wants the name by which it connects
    trusted       the certificates of its truststore (DER); None: it trusts what the system does
    shows_itself  it has a certificate of its own
    """

    context: ssl.SSLContext | None
    trusted: tuple[bytes, ...] | None
    checks_host: bool = True
    shows_itself: bool = False
    problem: str = ""


class Loaded(NamedTuple):
    """own: the certificates (DER) that go with the key, its own first; none for a client without a key."""

    context: ssl.SSLContext
    own: tuple[bytes, ...]
    twin: Twin


class Refused(NamedTuple):
    """is_of_trust: nothing else is wrong than that the client's truststore does not know the issuer, so that clients
    with another truststore may take the certificate."""

    why: str
    is_of_trust: bool = False


class End(NamedTuple):
    """When the first of some certificates ends. `part`: `own`, or `ca` for those above it. `at`: seconds since 1970."""

    part: str
    at: float


def refused(server: Loaded, client: Twin, host: str, now: datetime) -> Refused | None:
    """Why `client` would not take a connection to `server` at `host`; None if it would. One at a time for each client.

    Where the client has no certificate, nothing is said of whether the server would want one: brokers have one.
    """
    if client.context is None:
        return Refused(client.problem)
    if (why := _wrong_by_date(server.own, client.trusted or (), now) or _cannot_sign(server.own[0])) is not None:
        return Refused(why)
    return _shaken(server, client, host)


def ends(own: Sequence[bytes], trusted: Iterable[bytes]) -> Iterator[End]:
    """The own certificate, and those above it: sent with it, or in the truststore."""
    if not own:
        return
    chain = [x509.load_der_x509_certificate(one) for one in own]
    yield End("own", chain[0].not_valid_after_utc.timestamp())
    above = [*chain[1:], *(one for one in _readable(trusted) if one.subject == chain[-1].issuer)]
    if above and chain[0].issuer != chain[0].subject:
        yield End("ca", min(one.not_valid_after_utc for one in above).timestamp())


def _wrong_by_date(chain: Sequence[bytes], trusted: Iterable[bytes], now: datetime) -> str | None:
    anchors = {_identity(one) for one in _readable(trusted)}
    for place, der in enumerate(chain):
        certificate = x509.load_der_x509_certificate(der)
        if _identity(certificate) in anchors or certificate.issuer == certificate.subject:
            return None  # it is trusted as it is, or not at all: the handshake shows it
        what = "the certificate" if place == 0 else f"the CA certificate {certificate.subject.rfc4514_string()}"
        if now > certificate.not_valid_after_utc:
            return f"{what} has expired on {certificate.not_valid_after_utc}"
        if now < certificate.not_valid_before_utc:
            return f"{what} is valid only from {certificate.not_valid_before_utc} on"
    return None


def _readable(certificates: Iterable[bytes]) -> Iterator[x509.Certificate]:
    """A truststore may have odd ones, which OpenSSL takes."""
    for der in certificates:
        try:
            one = x509.load_der_x509_certificate(der)
            _identity(one)
        except _UNREADABLE:
            continue
        yield one


def _identity(certificate: x509.Certificate) -> tuple[bytes, bytes]:
    """Java takes one of the same name with the same key for the same."""
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return certificate.subject.public_bytes(), key


def _extension(own: bytes, kind: type[_Extension]) -> _Extension | None:
    """Of a certificate (DER). None where the certificate has none, or has another one that cannot be read."""
    try:
        return x509.load_der_x509_certificate(own).extensions.get_extension_for_class(kind).value
    except (x509.ExtensionNotFound, *_UNREADABLE):
        return None


def _cannot_sign(own: bytes) -> str | None:
    usage = _extension(own, x509.KeyUsage)
    return (
        None if usage is None or usage.digital_signature else "the certificate's key usage is without digitalSignature"
    )


def _shaken(server: Loaded, client: Twin, host: str) -> Refused | None:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    assert client.context is not None
    is_named = is_name(host)
    client.context.check_hostname = client.checks_host and is_named
    try:
        at_client = client.context.wrap_bio(to_client, to_server, server_hostname=host if is_named else None)
    except ValueError:
        return Refused(f"{host!r} is no name that a certificate could have")
    at_server = server.context.wrap_bio(to_server, to_client, server_side=True)
    left = [at_client, at_server]
    for _ in range(MOST_FLIGHTS):
        for side in tuple(left):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError as error:
                return _refused_by(error, server.own[0], client, host, by_server=side is at_server)
            left.remove(side)
        if not left:
            return None
    return Refused("the handshake comes to no end")


def _is_for_any_use(own: bytes) -> bool:
    """Java takes it, OpenSSL does not."""
    usages = _extension(own, x509.ExtendedKeyUsage)
    return usages is not None and ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE in usages


def _refused_by(error: ssl.SSLError, own: bytes, client: Twin, host: str, *, by_server: bool) -> Refused | None:
    if by_server:
        if error.reason == _NO_CERTIFICATE and not client.shows_itself:
            return None
        if isinstance(error, ssl.SSLCertVerificationError):
            return Refused(
                f"the truststore does not take the own certificate as a client's: {error.verify_message}", True
            )
    elif isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _UNKNOWN_ISSUER:
            return Refused(f"no certificate of the truststore has issued it ({error.verify_message})", True)
        if error.verify_code == _WRONG_PURPOSE and _is_for_any_use(own):
            return None
        if error.verify_code in (_WRONG_NAME, _WRONG_ADDRESS):
            return Refused(f"the certificate has not the name {host} ({error.verify_message})")
        return Refused(f"the certificate is refused: {error.verify_message}")
    return Refused(f"TLS fails: {(error.reason or 'the connection was closed').lower().replace('_', ' ')}")


def is_name(host: str) -> bool:
    """A wildcard address is none: peers connect to another one."""
    try:
        return not ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return bool(host)


def dns_names(certificate: bytes) -> frozenset[str]:
    """In lower case, of a certificate (DER). One without any has its common name."""
    found = _extension(certificate, x509.SubjectAlternativeName)
    names = [] if found is None else found.get_values_for_type(x509.DNSName)
    if not names:
        subject = x509.load_der_x509_certificate(certificate).subject
        names = [str(one.value) for one in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    return frozenset(name.lower() for name in names)


def has_name(names: Collection[str], host: str) -> bool:
    """A wildcard stands for the first label as a whole: some clients take it for no less and no more."""
    host = host.lower()
    return host in names or f"*.{host.partition('.')[2]}" in names
