"""What the bytes of keystores and truststores hold. They distinguish PEM, PKCS12 and JKS, not the type in the settings:
keytool has written PKCS12 since Java 9, whatever the file is called. Source: DefaultSslEngineFactory (PEM),
sun.security.ssl.TrustManagerFactoryImpl (what of a store is trusted).

Reads JKS, the keystore format of Java's keytool (sun.security.provider.JavaKeyStore and KeyProtector of JDK 17).
Numbers are big-endian.

    magic FEEDFEED, version 1 or 2, number of entries, entries, SHA-1 of (password, "Mighty Aphrodite", all before)
    entry        1 (a key) or 2 (a trusted certificate), alias, milliseconds, content
    key          length, EncryptedPrivateKeyInfo by Sun's own algorithm, number of certificates, certificates
    certificate  type ("X.509"; version 1 has none), length, DER

The password of the store protects it from changes only.

DER is the encoding of certificates and keys (X.690): tag, length and content of each element. Every length is checked
against the bytes that are there.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, load_der_private_key, load_pem_private_key, pkcs12

SEQUENCE = 0x30


class BadDer(ValueError): ...


class Element(NamedTuple):
    tag: int
    content: bytes

    @property
    def encoded(self) -> bytes:
        size = len(self.content)
        if size < 0x80:
            return bytes((self.tag, size)) + self.content
        length = size.to_bytes((size.bit_length() + 7) // 8, "big")
        return bytes((self.tag, 0x80 | len(length))) + length + self.content


def elements(data: bytes) -> list[Element]:
    """The elements that follow each other in `data`. Raises BadDer."""
    found = []
    at = 0
    while at < len(data):
        element, at = _element(data, at)
        found.append(element)
    return found


def single(data: bytes, tag: int) -> bytes:
    """The content of the only element, which must have this tag. Raises BadDer."""
    element, end = _element(data, 0)
    if element.tag != tag or end != len(data):
        raise BadDer("not the expected element")
    return element.content


def _element(data: bytes, at: int) -> tuple[Element, int]:
    if len(data) - at < 2:
        raise BadDer("an element is cut short")
    tag, size = data[at], data[at + 1]
    at += 2
    if size & 0x80:
        width = size & 0x7F
        if not 1 <= width <= 4 or len(data) - at < width:
            raise BadDer("a length is out of bounds")
        size = int.from_bytes(data[at : at + width], "big")
        at += width
    if size > len(data) - at:
        raise BadDer("an element is cut short")
    return Element(tag, data[at : at + size]), at + size


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


LARGEST_STORE = 16 * 2**20
"""In bytes: a bundle of all public CAs has less than one MiB."""
_NO_KEY = "it has certificates, but no private key: is it a truststore?"
_PEM = b"-----BEGIN "
_BINARY = (b"\x30\x80", b"\x30\x82", b"\x30\x83", MAGIC, JCEKS_MAGIC)
_ENTRY = r"-+BEGIN\s+[^-]*{0}[^-]*-+\s(?:\s*[^\r\n:]*:[^\r\n]*[\r\n]+)*([a-zA-Z0-9/+=\s]*)-+END\s+[^-]*{0}[^-]*-+"
"""As PemParser of DefaultSslEngineFactory: blanks are allowed where lines end, and headers before the content."""
_CERTIFICATE = re.compile(_ENTRY.format("CERTIFICATE"))
_PRIVATE_KEY = re.compile(_ENTRY.format(r"PRIVATE\s+KEY"))


class KeyAndChain(NamedTuple):
    """A private key and its certificates (DER), the key's own first."""

    key: PrivateKeyTypes
    chain: tuple[bytes, ...]


def is_pem(data: bytes) -> bool:
    """Comments are allowed before the first entry."""
    return _PEM in data and not is_binary(data)


def is_binary(data: bytes) -> bool:
    return data.startswith(_BINARY)


def read_key(data: bytes, store_password: str | None, key_password: str | None) -> KeyAndChain:
    """Raises BadKeystore."""
    if not data.strip():
        raise BadKeystore("it is empty")
    if is_pem(data):
        text = data.decode("latin-1")
        return pem_key(text, text, key_password)
    if data.startswith(MAGIC):
        return _key_of_jks(data, store_password, key_password)
    found = _pkcs12(data, store_password)
    if found.key is None or found.cert is None:
        raise BadKeystore(_NO_KEY)
    others = [_der(one.certificate) for one in found.additional_certs]
    return _checked(found.key, (_der(found.cert.certificate), *others))


def read_trusted(data: bytes, store_password: str | None) -> tuple[bytes, ...]:
    """The trusted certificates of a store, in DER; own ones of its keys count too, and not those above these: a store
    that is keystore and truststore at once does not make each certificate of its authority a trusted one. Raises
    BadKeystore.
    """
    if not data.strip():
        raise BadKeystore("it is empty")
    if is_pem(data):
        return pem_certificates(data.decode("latin-1"))
    if data.startswith(MAGIC):
        store = read_java_keystore(data, store_password)
        found = store.trusted + tuple(key.certificates[0] for key in store.keys if key.certificates)
    else:
        contents = _pkcs12(data, store_password)
        others = [one.certificate for one in contents.additional_certs]
        own = [] if contents.cert is None else _chain(contents.cert.certificate, others)
        for above in own[1:]:
            others.remove(above)  # keytool writes it a second time where it is trusted, too
        found = tuple(map(_der, (*own[:1], *others)))
    if not found:
        raise BadKeystore("it has no certificates")
    return found


def pem_key(key: str, chain: str, password: str | None) -> KeyAndChain:
    """Reads a private key and its certificates from PEM; `key` and `chain` may be one text. Raises BadKeystore."""
    entries = list(_PRIVATE_KEY.finditer(key))
    if not entries:
        raise BadKeystore("it has no private key in PEM")
    if len(entries) > 1:
        raise BadKeystore(f"one private key is expected, it has {len(entries)}")
    secret = None if password is None else password.encode()
    try:
        if "RSA PRIVATE" in entries[0][0] or "EC PRIVATE" in entries[0][0]:
            found = load_pem_private_key(entries[0][0].encode(), secret)
        else:
            found = load_der_private_key(_content(entries[0]), secret)
    except TypeError:
        raise BadKeystore(
            "its key is encrypted, and no password is given" if secret is None else "its key needs no password"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise BadKeystore(
            "its key is broken" if secret is None else "the password of the key is wrong, or the key is broken"
        ) from None
    return _checked(found, pem_certificates(chain))


def pem_certificates(text: str) -> tuple[bytes, ...]:
    """The certificates of a PEM text, at least one, in DER. Raises BadKeystore."""
    found = tuple(_content(entry) for entry in _CERTIFICATE.finditer(text))
    if not found:
        raise BadKeystore("it has no certificate in PEM")
    for one in found:
        _parsed(one)
    return found


def _content(entry: re.Match[str]) -> bytes:
    try:
        return base64.b64decode("".join(entry[1].split()), validate=True)
    except binascii.Error:
        raise BadKeystore("it has an entry that is not Base64") from None


def _key_of_jks(data: bytes, store_password: str | None, key_password: str | None) -> KeyAndChain:
    store = read_java_keystore(data, store_password)
    if not store.keys:
        raise BadKeystore(_NO_KEY if store.trusted else "it is empty")
    entry = store.keys[0]
    plain = private_key(entry, (store_password or "") if key_password is None else key_password)
    try:
        return _checked(load_der_private_key(plain, None), entry.certificates)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        if isinstance(error, BadKeystore):
            raise
        raise BadKeystore("its key is broken") from None


def _pkcs12(data: bytes, password: str | None) -> pkcs12.PKCS12KeyAndCertificates:
    if data.startswith(JCEKS_MAGIC):
        raise BadKeystore(
            "it is a JCEKS keystore, which only Java reads: keytool -importkeystore -deststoretype pkcs12 converts it"
        )
    if not data.startswith(b"\x30"):
        raise BadKeystore("it is neither PEM nor PKCS12 nor JKS")
    try:
        return pkcs12.load_pkcs12(data, None if password is None else password.encode())
    except UnsupportedAlgorithm as error:
        raise BadKeystore(f"its encryption is not supported ({error})") from None
    except ValueError:
        missing = "no password is given" if password is None else "the password is wrong"
        raise BadKeystore(f"{missing}, or the file is broken") from None


def _checked(key: PrivateKeyTypes, chain: tuple[bytes, ...]) -> KeyAndChain:
    """The key with its chain, where each certificate is issued by the next. Other certificates are left out."""
    if not chain:
        raise BadKeystore("its key has no certificate")
    own, *others = (_parsed(one) for one in chain)
    if own.public_key() != key.public_key():
        raise BadKeystore("its key does not belong to its first certificate")
    return KeyAndChain(key, tuple(map(_der, _chain(own, others))))


def _chain(own: x509.Certificate, others: Sequence[x509.Certificate]) -> list[x509.Certificate]:
    ordered = [own]
    while ordered[-1].issuer != ordered[-1].subject:
        above = next((one for one in others if one.subject == ordered[-1].issuer and one not in ordered), None)
        if above is None:
            break
        ordered.append(above)
    return ordered


def _parsed(certificate: bytes) -> x509.Certificate:
    try:
        return x509.load_der_x509_certificate(certificate)
    except ValueError:
        raise BadKeystore("it has a broken certificate") from None


def _der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)
