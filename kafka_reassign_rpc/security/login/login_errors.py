"""The error of a login. Its text has no password, no token and no line of a login configuration."""

from kafka_reassign_rpc.support.bounded_text import shortened


class LoginFailed(ConnectionError):
    """The other side, or the mechanism, has refused a login."""


def failure(error: Exception) -> str:
    """Why a mechanism's library has failed. Only Kerberos' own errors are known to show no secret."""
    if type(error).__module__.startswith("gssapi"):
        return shortened(" ".join(str(error).split()), 300)
    return f"the answer cannot be used ({type(error).__name__})"
