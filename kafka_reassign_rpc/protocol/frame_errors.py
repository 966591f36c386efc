"""What can be wrong with a frame.

`ProtocolError` is abstract: nothing but its two branches is raised. `RemoteProtocolError` is the peer's fault
and says, by `closes`, what a server does about it: close the connection, as Kafka does in nearly all cases, or
answer. `LocalProtocolError` is a mistake of our own caller: the connection is in order.
"""

from typing import ClassVar

UNSUPPORTED_VERSION = 35
"""Kafka's error code for a version that is not served."""


class ProtocolError(Exception):
    """Base of all errors here; abstract."""

    closes: ClassVar[bool] = True

    def __init__(self, message: str) -> None:
        if type(self) is ProtocolError:
            raise TypeError("ProtocolError is abstract: raise LocalProtocolError or a RemoteProtocolError")
        super().__init__(message)


class LocalProtocolError(ProtocolError):
    """Our own side asked for what cannot be: an answer given twice, a message that does not fit its schema."""

    closes = False


class RemoteProtocolError(ProtocolError):
    """The peer sent what the protocol does not allow."""


class BadFrameSize(RemoteProtocolError):
    """The announced size of a frame is negative, too small for a header, or over the limit."""


class Truncated(RemoteProtocolError):
    """A frame ends inside a field."""


class BadLength(RemoteProtocolError):
    """A length or a count is negative, or more than what the rest of the frame can hold."""


class TooManyElements(RemoteProtocolError):
    """A request has more array elements in all than a server is willing to build objects for."""


class BadVarint(RemoteProtocolError):
    """A variable-length integer has more than five bytes."""


class NullNotAllowed(RemoteProtocolError):
    """A field is null that may not be null in this version."""


class BadText(RemoteProtocolError):
    """A string is not valid UTF-8."""


class BadTag(RemoteProtocolError):
    """The value of a tagged field does not fill the size that it announces."""


class UnknownApi(RemoteProtocolError):
    """No such API key, or none that is served here."""


class UnsupportedVersion(RemoteProtocolError):
    """The API is served, but not in this version."""


class UnsupportedApiVersions(UnsupportedVersion):
    """ApiVersions in a version that is not served: answered in version 0 with error 35, and the client asks again."""

    closes = False


class UnexpectedAnswer(RemoteProtocolError):
    """An answer that nobody waits for, or that comes before its turn."""
