"""Findings about files of the server itself: who may read its secrets, and who would take its certificates."""

from collections.abc import Iterable, Iterator

from kafka_reassign_rpc.core.status.own_certificates import CURE, ENDS_SOON_DAYS, OwnCertificates
from kafka_reassign_rpc.preflight.findings import Finding, every, fine, unsafe, warning
from kafka_reassign_rpc.security.secret_files import SecretFile, readable
from kafka_reassign_rpc.support.counted import counted

SECRET_FILES, CERTIFICATES = "secret-files", "certificates"


def of_secret_files(files: Iterable[SecretFile]) -> Iterator[Finding]:
    """Says nothing where the settings name no file with a secret. Looks at the files."""
    all_files = list(files)
    found = readable(all_files)
    for one in found:
        yield warning(SECRET_FILES, one.problem, one.advice)
    if all_files and not found:
        count = len({file.path for file in all_files})
        yield fine(SECRET_FILES, f"no other user may read {counted(count, 'file')} with secrets that the settings name")


def of_certificates(found: OwnCertificates, now_s: float) -> Iterator[Finding]:
    """Whether brokers and clients would take them, and how long. Says nothing where no listener has TLS."""
    for one in found.handshakes:
        if one.fails:
            yield unsafe(CERTIFICATES, str(one), CURE)
        elif one.why:
            yield warning(CERTIFICATES, f"{one}, unless they trust another CA", CURE)
    for (use, part), days in sorted(found.days_left(now_s).items()):
        if days < ENDS_SOON_DAYS:
            which = "the certificate" if part == "own" else "a CA certificate above it"
            text = f"{use}: {which} {f'ends in {days:.0f} days' if days >= 0 else f'ended {-days:.0f} days ago'}"
            yield warning(CERTIFICATES, text, "renew it: the server takes a new file up within seconds")
    if found.handshakes and not any(one.why for one in found.handshakes):
        names = every(one.listener for one in found.handshakes)
        yield fine(CERTIFICATES, f"a TLS handshake with itself succeeds at each listener with TLS: {names}")
