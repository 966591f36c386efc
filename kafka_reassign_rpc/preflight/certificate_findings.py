"""Whether brokers and clients would take the certificates of a server's listeners, and how long. Pure."""

from collections.abc import Iterator

from kafka_reassign_rpc.core.status.own_certificates import CURE, ENDS_SOON_DAYS, OwnCertificates
from kafka_reassign_rpc.preflight.findings import Finding, every, fine, unsafe, warning

SUBJECT = "certificates"


def findings(found: OwnCertificates, now_s: float) -> Iterator[Finding]:
    """Says nothing where no listener has TLS."""
    for one in found.handshakes:
        if one.fails:
            yield unsafe(SUBJECT, str(one), CURE)
        elif one.why:
            yield warning(SUBJECT, f"{one}, unless they trust another CA", CURE)
    for (use, part), days in sorted(found.days_left(now_s).items()):
        if days < ENDS_SOON_DAYS:
            which = "the certificate" if part == "own" else "a CA certificate above it"
            text = f"{use}: {which} {f'ends in {days:.0f} days' if days >= 0 else f'ended {-days:.0f} days ago'}"
            yield warning(SUBJECT, text, "renew it: the server takes a new file up within seconds")
    if found.handshakes and not any(one.why for one in found.handshakes):
        names = every(one.listener for one in found.handshakes)
        yield fine(SUBJECT, f"a TLS handshake with itself succeeds at each listener with TLS: {names}")
