"""When the alerts of certificates fire."""

from tests.deploy.alert_series import KAFKA, LONG, Case, Fired, servers

_SSL = {"job": KAFKA, "instance": "a", "listener": "SSL"}
_USE = {"job": KAFKA, "instance": "a", "use": "listener SSL", "part": "own"}
_FAILS = Fired("Nobody would connect to listener SSL of a: its certificate is refused.", _SSL)
_ENDS = Fired("A certificate of a ends in 13 days (listener SSL, own).", _USE)

CERTIFICATE_CASES = (
    Case(
        "KafkaReassignHandshakeFails",
        "a certificate is refused, and renewed",
        servers("tls_handshake_fails", "0x5 1x60 0x60", "0x200", listener="SSL"),
        {6: (), 7: (_FAILS,), 65: (_FAILS,), 67: ()},
    ),
    Case(
        "KafkaReassignHandshakeFails",
        "all is well",
        servers("tls_handshake_fails", "0x60", "0x60", listener="SSL"),
        {30: ()},
    ),
    Case(
        "KafkaReassignCertificateEnds",
        "a certificate ends soon, and is renewed",
        servers("certificate_days_left", "20x5 13x90 300x60", "20x200", use="listener SSL", part="own"),
        {5: (), 65: (), 66: (_ENDS,), 95: (_ENDS,), 97: ()},
    ),
    Case(
        "KafkaReassignCertificateEnds",
        "there is time",
        servers("certificate_days_left", "15x200", use="brokers", part="ca"),
        {150: ()},
    ),
)

VALID = {
    **servers("tls_handshake_fails", f"0{LONG}", f"0{LONG}", listener="SSL"),
    **servers("certificate_days_left", f"300{LONG}", f"300{LONG}", use="listener SSL", part="own"),
}
"""What servers show on a healthy day."""
