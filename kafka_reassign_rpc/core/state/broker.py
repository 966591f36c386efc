"""A registered broker, where it is reached, and which of its log dirs have failed."""

from collections.abc import Sequence

import msgspec

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""Indexes are the numbers on the wire (org.apache.kafka.common.security.auth.SecurityProtocol)."""


class Endpoint(msgspec.Struct, frozen=True):
    listener: str
    security_protocol: str
    host: str
    port: int


def endpoint_for(endpoints: Sequence[Endpoint], listener: str | None, security_protocol: str = "") -> Endpoint:
    """The endpoint of the same name, else of the same security protocol, else the first: servers and brokers may name
    their listeners differently.
    """
    same = (one for one in endpoints if one.listener == listener)
    alike = (one for one in endpoints if one.security_protocol == security_protocol)
    return next(same, next(alike, endpoints[0]))


class Broker(msgspec.Struct, frozen=True):
    """`epoch`: the czxid of `/brokers/ids/$id`; a bounce changes it."""

    id: int
    epoch: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None

    def endpoint(self, listener: str | None = None, security_protocol: str = "") -> Endpoint:
        return endpoint_for(self.endpoints, listener, security_protocol)


class FailedLogDirs(msgspec.Struct, frozen=True):
    """A registered broker that has lost log dirs.

    since   when a controller first noticed that replicas are offline, ms since 1970
    paths   the log dirs that had failed by then or since, empty until the broker has named them
    """

    since: int
    paths: tuple[str, ...] = ()
