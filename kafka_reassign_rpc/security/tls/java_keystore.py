"""Reads JKS, the keystore format of Java's keytool (sun.security.provider.JavaKeyStore and KeyProtector of JDK 17).
Numbers are big-endian.

    magic FEEDFEED, version 1 or 2, number of entries, entries, SHA-1 of (password, "Mighty Aphrodite", all before)
    entry        1 (a key) or 2 (a trusted certificate), alias, milliseconds, content
    key          length, EncryptedPrivateKeyInfo by Sun's own algorithm, number of certificates, certificates
    certificate  type ("X.509"; version 1 has none), length, DER

The password of the store protects it from changes only.
"""

import hashlib
import hmac
from typing import NamedTuple

from kafka_reassign_rpc.security.tls.der_reader import SEQUENCE, BadDer, elements, single

MAGIC = b"\xfe\xed\xfe\xed"
JCEKS_MAGIC = b"\xce\xce\xce\xce"
MOST_ENTRIES = 10_000
_DIGEST = hashlib.sha1(usedforsecurity=False).digest_size
_SUN_KEY_PROTECTOR = bytes.fromhex("2b060104012a02110101")
"""Sun's algorithm for keys in a JKS file: OID 1.3.6.1.4.1.42.2.17.1.1."""


class BadKeystore(ValueError): ...


class KeyEntry(NamedTuple):
    """A private key, encrypted by Sun's algorithm, and its certificates (DER), the key's own first."""

    protected_key: bytes
    certificates: tuple[bytes, ...]


class JavaKeystore(NamedTuple):
    keys: tuple[KeyEntry, ...]
    trusted: tuple[bytes, ...]


def read_java_keystore(data: bytes, password: str | None) -> JavaKeystore:
    """Decodes a JKS file. Without a password its integrity is not checked, as in Java. Raises BadKeystore."""
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if password is not None:
        wanted = hashlib.sha1(_utf16(password) + b"Mighty Aphrodite" + body, usedforsecurity=False).digest()
        if not hmac.compare_digest(wanted, digest):
            raise BadKeystore("the password is wrong, or the file is broken")
    source = _Source(body)
    if source.take(4) != MAGIC:
        raise BadKeystore("it is not a JKS keystore")
    version, count = source.number(), source.number()
    if version not in (1, 2) or count > MOST_ENTRIES:
        raise BadKeystore("the file is broken")
    keys: list[KeyEntry] = []
    trusted: list[bytes] = []
    for _ in range(count):
        kind = source.number()
        source.take(source.short())  # the alias
        source.take(8)  # the date
        if kind == 1:
            key = source.take(source.number())
            keys.append(KeyEntry(key, tuple(source.certificate(version) for _ in range(source.length(5)))))
        elif kind == 2:
            trusted.append(source.certificate(version))
        else:
            raise BadKeystore("the file is broken")
    return JavaKeystore(tuple(keys), tuple(trusted))


def private_key(entry: KeyEntry, password: str) -> bytes:
    """The decrypted key, as PKCS #8 (DER). Raises BadKeystore if the password is wrong."""
    try:
        algorithm, content = elements(single(entry.protected_key, SEQUENCE))
        if elements(algorithm.content)[0].content != _SUN_KEY_PROTECTOR:
            raise BadKeystore("its key is encrypted by an unknown algorithm")
        protected = content.content
    except (BadDer, ValueError) as error:
        raise BadKeystore("its key is broken") from error
    secret = _utf16(password)
    block, encrypted, check = protected[:_DIGEST], protected[_DIGEST:-_DIGEST], protected[-_DIGEST:]
    stream = bytearray()
    while len(stream) < len(encrypted):
        block = hashlib.sha1(secret + block, usedforsecurity=False).digest()
        stream += block
    plain = bytes(a ^ b for a, b in zip(encrypted, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(secret + plain, usedforsecurity=False).digest(), check):
        raise BadKeystore("the password of the key is wrong")
    return plain


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be", "surrogatepass")


class _Source:
    """Reads the keystore's bytes in order. No length reaches beyond their end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise BadKeystore("the file is cut short or broken")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def short(self) -> int:
        return int.from_bytes(self.take(2), "big")

    def length(self, least: int) -> int:
        count = self.number()
        if count * least > len(self._data) - self._at:
            raise BadKeystore("the file is cut short or broken")
        return count

    def certificate(self, version: int) -> bytes:
        if version == 2 and self.take(self.short()) not in (b"X.509", b"X509"):
            raise BadKeystore("it has a certificate that is not X.509")
        return self.take(self.number())
