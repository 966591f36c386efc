"""Kafka's `zookeeper.connect`: `host:port,host:port/chroot`, IPv6 addresses in brackets."""

import re
from typing import NamedTuple

from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.host_port import is_address

DEFAULT_PORT = 2181
_HOST = re.compile(r"[\w.%:-]+")
"""More than resolvers take; without the `@` of a login, which would be in every log."""


class ConnectString(NamedTuple):
    """The chroot is "" or "/a/b" without a trailing slash."""

    hosts: tuple[tuple[str, int], ...]
    chroot: str


def parse_connect_string(text: str) -> ConnectString:
    """Raises ValueError with a message of one line."""
    servers, slash, rest = text.strip().partition("/")
    names = [name for name in rest.split("/") if name]
    if slash and ("," in rest or any(name in (".", "..") for name in names)):
        raise ValueError("zookeeper.connect: the chroot must be one path after the last host")
    hosts = tuple(_host(part.strip()) for part in servers.split(",") if part.strip())
    if not hosts:
        raise ValueError("zookeeper.connect: it names no host")
    return ConnectString(hosts, "".join(f"/{name}" for name in names))


def _host(part: str) -> tuple[str, int]:
    if part.startswith("["):
        host, bracket, port = part[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            raise ValueError("zookeeper.connect: a part of it is not [address]:port")
        port = port[1:]
    else:
        host, colon, port = part.rpartition(":")
        if not colon or (":" in host and not is_address(host)):  # an IPv6 address without a port
            host, port = part, ""
    if not host:
        raise ValueError("zookeeper.connect: a part of it has no host")
    if not _HOST.fullmatch(host) or (":" in host and not is_address(host)):
        raise ValueError("zookeeper.connect: a part of it is no host (a login does not belong there)")
    if not port:
        return host, DEFAULT_PORT
    number = whole_number(port, 1, 65535)
    if number is None:
        raise ValueError("zookeeper.connect: a part of it ends with no port")
    return host, number
