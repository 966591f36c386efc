"""The errors that a frame can have. `closes` says whether a server closes the connection after a mistake of the peer,
as Kafka nearly always does, or answers.
"""

from typing import ClassVar

UNSUPPORTED_VERSION = 35
"""Kafka's error code for a version that is not served."""


class ProtocolError(Exception):
    def __init__(self, message: str) -> None:
        if type(self) is ProtocolError:
            raise TypeError("ProtocolError is abstract: raise LocalProtocolError or a RemoteProtocolError")
        super().__init__(message)


class LocalProtocolError(ProtocolError):
    """A mistake of our own caller. The connection can still be used."""


class RemoteProtocolError(ProtocolError):
    """The peer sent bytes that the protocol does not allow."""

    closes: ClassVar[bool] = True


class BadFrameSize(RemoteProtocolError):
    """The announced size of a frame is negative, too small for a header, or over the limit."""


class Truncated(RemoteProtocolError): ...


class BadLength(RemoteProtocolError):
    """It is negative, or larger than the rest of the frame."""


class TooManyElements(RemoteProtocolError):
    """More array elements or tagged fields than a server builds objects for."""


class BadVarint(RemoteProtocolError): ...


class NullNotAllowed(RemoteProtocolError): ...


class BadText(RemoteProtocolError):
    """It is not UTF-8."""


class BadTag(RemoteProtocolError):
    """A tagged field does not fill the size that it announces."""


class UnknownApi(RemoteProtocolError):
    """The API key does not exist, or this node does not serve it."""


class UnsupportedVersion(RemoteProtocolError): ...


class UnsupportedApiVersions(UnsupportedVersion):
    """Answered in version 0 with error 35; the client asks again."""

    closes = False


class UnexpectedAnswer(RemoteProtocolError):
    """It belongs to no request, or is out of order."""
