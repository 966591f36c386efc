"""What the bytes of keystores and truststores hold. They distinguish PEM, PKCS12 and JKS, not the type in the settings:
keytool has written PKCS12 since Java 9, whatever the file is called. Source: DefaultSslEngineFactory (PEM),
sun.security.ssl.TrustManagerFactoryImpl (what of a store is trusted).
"""

import base64
import binascii
import re
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, load_der_private_key, load_pem_private_key, pkcs12

from kafka_reassign_rpc.security.tls import java_keystore
from kafka_reassign_rpc.security.tls.java_keystore import BadKeystore, read_java_keystore

LARGEST_STORE = 16 * 2**20
"""In bytes: a bundle of all public CAs has less than one MiB."""
_NO_KEY = "it has certificates, but no private key: is it a truststore?"
_PEM = b"-----BEGIN "
_BINARY = (b"\x30\x80", b"\x30\x82", b"\x30\x83", java_keystore.MAGIC, java_keystore.JCEKS_MAGIC)
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
    if data.startswith(java_keystore.MAGIC):
        return _key_of_jks(data, store_password, key_password)
    found = _pkcs12(data, store_password)
    if found.key is None or found.cert is None:
        raise BadKeystore(_NO_KEY)
    others = [_der(one.certificate) for one in found.additional_certs]
    return _checked(found.key, (_der(found.cert.certificate), *others))


def read_trusted(data: bytes, store_password: str | None) -> tuple[bytes, ...]:
    """The trusted certificates of a store, in DER; own ones of its keys count too. Raises BadKeystore."""
    if not data.strip():
        raise BadKeystore("it is empty")
    if is_pem(data):
        return pem_certificates(data.decode("latin-1"))
    if data.startswith(java_keystore.MAGIC):
        store = read_java_keystore(data, store_password)
        found = store.trusted + tuple(key.certificates[0] for key in store.keys if key.certificates)
    else:
        contents = _pkcs12(data, store_password)
        own = [] if contents.cert is None else [contents.cert]
        found = tuple(_der(one.certificate) for one in (*own, *contents.additional_certs))
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
    plain = java_keystore.private_key(entry, (store_password or "") if key_password is None else key_password)
    try:
        return _checked(load_der_private_key(plain, None), entry.certificates)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        if isinstance(error, BadKeystore):
            raise
        raise BadKeystore("its key is broken") from None


def _pkcs12(data: bytes, password: str | None) -> pkcs12.PKCS12KeyAndCertificates:
    if data.startswith(java_keystore.JCEKS_MAGIC):
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
    ordered = [own]
    while ordered[-1].issuer != ordered[-1].subject:
        above = next((one for one in others if one.subject == ordered[-1].issuer and one not in ordered), None)
        if above is None:
            break
        ordered.append(above)
    return KeyAndChain(key, tuple(map(_der, ordered)))


def _parsed(certificate: bytes) -> x509.Certificate:
    try:
        return x509.load_der_x509_certificate(certificate)
    except ValueError:
        raise BadKeystore("it has a broken certificate") from None


def _der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)
