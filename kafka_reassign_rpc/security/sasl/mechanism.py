"""What the authenticator needs of a SASL mechanism."""

from collections.abc import Awaitable, Callable
from typing import Protocol


class SaslError(Exception):
    """The text is for the log: a client must not know it."""


class SaslAuthenticationError(SaslError):
    """The client gets the text (Kafka's SaslAuthenticationException)."""


class SaslRetry(SaslError):
    """The connection closes without an answer, so that the client tries again (Kafka: retriable Kerberos errors)."""


class SaslServer(Protocol):
    """One exchange (Java's SaslServer).

    complete         the client is authenticated; no further token may come
    authorization_id the user's name, once complete
    expires_at       when the client's credentials expire, in seconds since 1970; None: not on their own
    """

    @property
    def complete(self) -> bool: ...

    @property
    def authorization_id(self) -> str: ...

    @property
    def expires_at(self) -> float | None: ...

    def evaluate(self, token: bytes) -> bytes | Awaitable[bytes]:
        """It is awaitable if the check is done off the event loop. SaslError ends the exchange."""


MakeSaslServer = Callable[[str], SaslServer]
"""Takes the client's address."""
