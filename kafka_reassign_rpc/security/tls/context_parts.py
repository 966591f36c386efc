"""Parts of a TLS context: protocol versions, cipher suites, keys from memory, the end of certificates; and a context
that follows its files. Existing connections keep theirs. If a new file cannot be used, the old context stays, and the
log says why, once for each state of the files.
"""

import asyncio
import logging
import os
import re
import secrets
import ssl
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from kafka_reassign_rpc.core.status.own_certificates import ENDS_SOON_DAYS
from kafka_reassign_rpc.security.properties import BadSetting, Properties
from kafka_reassign_rpc.security.tls.certificate_stores import KeyAndChain
from kafka_reassign_rpc.security.tls.own_handshake import Loaded
from kafka_reassign_rpc.support.files import Stamp, stamp
from kafka_reassign_rpc.support.secrecy import told, told_suite

log = logging.getLogger(__name__)

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
"""These versions are served and used, oldest first."""
OLD_VERSIONS = ("SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1")
"""Java knows them, and switches them off (jdk.tls.disabledAlgorithms)."""
_OF_TLS_1_3 = re.compile(r"TLS_(AES|CHACHA20)_\w+")
FFDHE2048 = """\
-----BEGIN DH PARAMETERS-----
MIIBCAKCAQEA//////////+t+FRYortKmq/cViAnPTzx2LnFg84tNpWp4TZBFGQz
+8yTnc4kmz75fS/jY2MMddj2gbICrsRhetPfHtXV/WVhJDP1H18GbtCFY2VVPe0a
87VXE15/V8k1mE8McODmi3fipona8+/och3xWKE2rec1MKzKT0g6eXq8CrGCsyT7
YdEIqUuyyOP7uWrat2DX9GgdT0Kj3jlN9K5W7edjcrsZCwenyO4KbXCeAvzhzffi
7MA0BM0oNC9hkXL+nOmFg/+OTxIy7vKBg8P+OxtMb61zO7X8vC7CIAXFjvGDfRaD
ssbzSibBsu/6iGtCOGEoXJf//////////wIBAg==
-----END DH PARAMETERS-----
"""
"""The group of RFC 7919 that DHE suites use, as Java's do. Such a handshake costs a server many times one by ECDHE, so
`ssl.cipher.suites` has to name them.
"""
_CIPHER = re.compile(r"TLS_(\w+)_WITH_(\w+)")


class Offered(msgspec.Struct, frozen=True):
    """`ciphers` are OpenSSL's names for TLS 1.2; empty takes its defaults."""

    lowest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    highest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
    ciphers: tuple[str, ...] = ()

    def apply(self, context: ssl.SSLContext) -> None:
        context.minimum_version = self.lowest
        context.maximum_version = self.highest
        if self.ciphers:
            context.set_ciphers(":".join(self.ciphers))
        if any(cipher.startswith("DHE-") for cipher in self.ciphers):
            with _file(FFDHE2048.encode()) as path:
                context.load_dh_params(path)


def offered(properties: Properties) -> Offered:
    """By `ssl.enabled.protocols`, `ssl.protocol` and `ssl.cipher.suites`. Raises BadSetting."""
    versions = _versions(properties)
    suites = properties.words("ssl.cipher.suites")
    name = properties.name("ssl.cipher.suites")
    if not suites:
        return Offered(versions[0], versions[-1])
    newest = [suite for suite in suites if _OF_TLS_1_3.fullmatch(suite)]
    older = _known_ciphers([suite for suite in suites if suite not in newest], name)
    if not newest:
        versions = [version for version in versions if version != ssl.TLSVersion.TLSv1_3]
    if not older:
        versions = [version for version in versions if version != ssl.TLSVersion.TLSv1_2]
    if not versions:
        raise BadSetting(f"{name}: none of these suites is of a protocol in {properties.name('ssl.enabled.protocols')}")
    if newest and versions[-1] == ssl.TLSVersion.TLSv1_3:
        log.info("%s: all suites of TLS 1.3 are offered: Python cannot choose among them", name)
    return Offered(versions[0], versions[-1], tuple(older))


def _versions(properties: Properties) -> list[ssl.TLSVersion]:
    protocol, name = properties.text("ssl.protocol"), properties.name("ssl.protocol")
    if protocol is not None and protocol not in ("TLS", "SSL", *VERSIONS, *OLD_VERSIONS):
        raise BadSetting(f"{name}: expected one of TLS, {', '.join(VERSIONS)}, got {told(protocol)}")
    words, name = properties.words("ssl.enabled.protocols") or [], properties.name("ssl.enabled.protocols")
    for word in words:
        if word not in VERSIONS and word not in OLD_VERSIONS:
            raise BadSetting(f"{name}: expected some of {', '.join(VERSIONS)}, got {told(word)}")
    found = [version for word, version in VERSIONS.items() if word in words or not words]
    if not found:
        raise BadSetting(f"{name}: expected TLSv1.2 or TLSv1.3, got {', '.join(words)}, which are not secure")
    if any(word in OLD_VERSIONS for word in words):
        log.warning("%s: no connection uses a version before TLS 1.2", name)
    return found


def _known_ciphers(suites: Sequence[str], name: str) -> list[str]:
    """OpenSSL's names for TLS 1.2. Suites that this OpenSSL lacks are left out, unless it lacks them all."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:COMPLEMENTOFALL")
    known = {str(cipher["name"]) for cipher in context.get_ciphers()}
    found = {suite: openssl_name(suite) for suite in suites}
    missing = [suite for suite, cipher in found.items() if cipher not in known]
    told_missing = ", ".join(map(told_suite, missing))
    if missing and len(missing) == len(found):
        raise BadSetting(f"{name}: this OpenSSL has none of {told_missing}")
    if missing:
        log.warning("%s: no connection uses these suites, which this OpenSSL lacks: %s", name, told_missing)
    return [cipher for suite, cipher in found.items() if suite not in missing]


def openssl_name(suite: str) -> str:
    """ECDHE-RSA-AES128-GCM-SHA256 for TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256. Other names stay as they are."""
    found = _CIPHER.fullmatch(suite)
    if found is None:
        return suite
    exchange = "" if found[1] == "RSA" else found[1].replace("_", "-") + "-"
    cipher = re.sub(r"(AES|CAMELLIA)_(\d+)", r"\1\2", found[2]).replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    return exchange + cipher.replace("_CBC", "").replace("_", "-")


def load_key(context: ssl.SSLContext, own: KeyAndChain, source: str) -> None:
    """The key never lies on a disk in clear. Raises BadSetting."""
    chain = b"".join(ssl.DER_cert_to_PEM_cert(one).encode() for one in own.chain)
    try:
        with _key_file(own.key, chain) as (path, password):
            context.load_cert_chain(path, password=password)
    except ssl.SSLError as error:
        raise BadSetting(f"{source}: OpenSSL takes no such key or certificate: {error.reason}") from None


def warn_of_end(certificate: bytes, source: str) -> None:
    """`certificate`: the own one (DER)."""
    parsed = x509.load_der_x509_certificate(certificate)
    begins, ends = parsed.not_valid_before_utc, parsed.not_valid_after_utc
    now = datetime.now(UTC)
    if now < begins:
        log.warning("%s: the certificate is valid from %s on: clients refuse it until then", source, begins)
    elif now > ends - timedelta(days=ENDS_SOON_DAYS):
        log.warning(
            "%s: the certificate %s on %s: clients refuse it from then on",
            source,
            "has ended" if now > ends else "ends",
            ends,
        )


@contextmanager
def _key_file(key: PrivateKeyTypes, chain: bytes) -> Iterator[tuple[str, str | None]]:
    """A file as OpenSSL reads it, and its password. It is in memory, or encrypted if the system has no such files."""
    password = None if hasattr(os, "memfd_create") else secrets.token_urlsafe(32)
    hidden = NoEncryption() if password is None else BestAvailableEncryption(password.encode())
    with _file(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden) + chain) as path:
        yield path, password


@contextmanager
def _file(data: bytes) -> Iterator[str]:
    """The path of a temporary file with this content, in memory if the system has such files."""
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            yield file.name
        return
    descriptor = os.memfd_create("tls", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        yield f"/proc/self/fd/{descriptor}"


CHECK_S = 10.0
"""Seconds between two checks of the files."""


class ReloadedContext:
    """The first context is made at once: raises BadSetting. `what` names it in the log."""

    def __init__(self, what: str, load: Callable[[], Loaded], files: tuple[Path, ...]) -> None:
        self._what = what
        self._load = load
        self._files = files
        self._seen = self._state()
        self.loaded = load()

    @property
    def context(self) -> ssl.SSLContext:
        return self.loaded.context

    async def keep(self, every: float = CHECK_S) -> None:
        """Checks until cancelled."""
        while self._files:
            await asyncio.sleep(every)
            await self.check()

    async def check(self) -> bool:
        """Off the event loop. Returns whether there is a new context."""
        return await asyncio.to_thread(self._check)

    def _check(self) -> bool:
        state = self._state()
        if state == self._seen:
            return False
        self._seen = state
        try:
            self.loaded = self._load()
        except BadSetting as error:
            log.error("%s keeps its certificates, since the new files cannot be used: %s", self._what, error)
            return False
        except Exception:
            log.exception("a defect: %s keeps its certificates until the files change again", self._what)
            return False
        log.info("%s has new certificates for new connections", self._what)
        return True

    def _state(self) -> tuple[Stamp | None, ...]:
        return tuple(map(stamp, self._files))
