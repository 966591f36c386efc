"""The errors that a frame can have. `RemoteProtocolError` is the peer's mistake; `closes` says whether a server closes
the connection, as Kafka nearly always does, or answers. `LocalProtocolError` is a mistake of our own caller: the
connection can still be used.
"""

from typing import ClassVar

UNSUPPORTED_VERSION = 35
"""Kafka's error code for a version that is not served."""


class ProtocolError(Exception):
    """Abstract base of all errors here."""

    closes: ClassVar[bool] = True

    def __init__(self, message: str) -> None:
        if type(self) is ProtocolError:
            raise TypeError("ProtocolError is abstract: raise LocalProtocolError or a RemoteProtocolError")
        super().__init__(message)


class LocalProtocolError(ProtocolError):
    """Our own caller gives a second answer to a request, or a message that does not fit its schema."""

    closes = False


class RemoteProtocolError(ProtocolError):
    """The peer sent bytes that the protocol does not allow."""


class BadFrameSize(RemoteProtocolError):
    """The announced size of a frame is negative, too small for a header, or over the limit."""


class Truncated(RemoteProtocolError):
    """A frame ends inside a field."""


class BadLength(RemoteProtocolError):
    """A length or a count is negative, or larger than the rest of the frame."""


class TooManyElements(RemoteProtocolError):
    """A request has more array elements in all than a server builds objects for."""


class BadVarint(RemoteProtocolError):
    """A variable-length integer has more than five bytes."""


class NullNotAllowed(RemoteProtocolError):
    """A field is null that must not be null in this version."""


class BadText(RemoteProtocolError):
    """A string is not valid UTF-8."""


class BadTag(RemoteProtocolError):
    """The value of a tagged field does not fill the size that it announces."""


class UnknownApi(RemoteProtocolError):
    """An API key that does not exist, or that this node does not serve."""


class UnsupportedVersion(RemoteProtocolError):
    """The API is served, but not in this version."""


class UnsupportedApiVersions(UnsupportedVersion):
    """ApiVersions in a version that is not served: answered in version 0 with error 35, and the client asks again."""

    closes = False


class UnexpectedAnswer(RemoteProtocolError):
    """An answer without a request, or out of order."""
