"""The names for which clients take a certificate (RFC 6125; Java: HostnameChecker, OpenSSL: X509_check_host)."""

from collections.abc import Collection

from cryptography import x509
from cryptography.x509.oid import NameOID

from kafka_reassign_rpc.security.tls.own_handshake import extension


def dns_names(certificate: bytes) -> frozenset[str]:
    """In lower case, of a certificate (DER). One without any has its common name."""
    found = extension(certificate, x509.SubjectAlternativeName)
    names = [] if found is None else found.get_values_for_type(x509.DNSName)
    if not names:
        subject = x509.load_der_x509_certificate(certificate).subject
        names = [str(one.value) for one in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    return frozenset(name.lower() for name in names)


def has_name(names: Collection[str], host: str) -> bool:
    """A wildcard stands for the first label as a whole: some clients take it for no less and no more."""
    host = host.lower()
    return host in names or f"*.{host.partition('.')[2]}" in names
