"""The errors of a login. No text has a password, a token or a line of a login configuration."""

import ssl

from kafka_reassign_rpc.support.bounded_text import shortened


class LoginFailed(ConnectionError):
    """The other side, or the mechanism, refused a login."""


def failure(error: Exception) -> str:
    """Of libraries, only Kerberos' own errors are known to show no secret."""
    if type(error).__module__.startswith("gssapi"):
        return shortened(" ".join(str(error).split()), 300)
    return f"the answer cannot be used ({type(error).__name__})"


def tls_failure(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is refused: {error.verify_message or error.reason}"
    return f"TLS failed: {(error.reason or 'the connection was closed').lower().replace('_', ' ')}"
