"""HOST:PORT as Kafka reads it (Utils.getHost and getPort): `b1:9092`, `[fe80::1%lo]:9092`, `::ffff:127.0.0.1:9092`.

All commands and settings read addresses this way, except `zookeeper.connect`, which is read as ZooKeeper's client does:
`host:port,host:port/chroot`, IPv6 addresses in brackets.
"""

import asyncio
import logging
import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import NamedTuple

from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.secrecy import HIDDEN

_HOST_PORT = re.compile(r"(?:[0-9A-Za-z\-%._]*://)?\[?([0-9A-Za-z\-%._:]*)\]?:([0-9]+)")
"""A security protocol before it means nothing; anything else there is refused, which Kafka reads over. The last
colon begins the port, with brackets or without.
"""
_SHOWN = re.compile(r"[0-9A-Za-z\-%._:\[\]]{1,255}:[0-9]{1,10}")
"""A message shows a wrong text that looks like an address. Anything else may be a secret in the wrong place."""
_LABEL = r"[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_LONGEST_NAME = 253
LAST_PORT = 65_535


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class BadAddress(ValueError):
    """The words are those of Kafka's clients, for bootstrap.servers."""

    def __init__(self, what: str, text: str) -> None:
        shown = text if _SHOWN.fullmatch(text) else HIDDEN
        super().__init__(f"Invalid {what} in bootstrap.servers: {shown} (expected HOST:PORT)")


def host_port(text: str) -> Address:
    """The host may be empty. Raises BadAddress."""
    found = _HOST_PORT.fullmatch(text.strip())
    if found is None:
        raise BadAddress("url", text)
    port = whole_number(found[2], 0, LAST_PORT)
    if port is None:
        raise BadAddress("port", text)
    return Address(found[1], port)


def host_ports(given: str | Iterable[str]) -> list[tuple[str, Address]]:
    """A list as of bootstrap.servers (ClientUtils.parseAndValidateAddresses), each with its text: what is empty, as
    after a comma at the end, is left out. Raises BadAddress.
    """
    texts = given.split(",") if isinstance(given, str) else given
    return [(text.strip(), host_port(text)) for text in texts if text.strip()]


def is_address(host: str) -> bool:
    """`::1` is one, `::ffff:127.0.0.1:2181` is not: it ends with a port."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_host_name(host: str) -> bool:
    """Whether a client can ask for it in a TLS handshake: no address, and labels as of RFC 1123, without a last dot
    (Java: SNIHostName).
    """
    return len(host) <= _LONGEST_NAME and _NAME.fullmatch(host) is not None and not is_address(host)


def is_loopback(host: str) -> bool:
    """Whether nothing that is sent there leaves this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_every_address(host: str) -> bool:
    """`0.0.0.0` or `::`: one listens there, and nobody can connect to it."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def is_only_here(host: str) -> bool:
    """Other hosts cannot use it as an address of this one."""
    return host == "" or is_loopback(host) or is_every_address(host)


_PAGE = re.compile(r"https?://(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):[0-9]{1,5}/")


def page_of_server(text: str) -> str | None:
    """None: it is not the address of a server's page, and nothing else."""
    return text if _PAGE.fullmatch(text) else None


log = logging.getLogger(__name__)

RESOLVE_S = 2.0
"""How long host names that are read together may take to resolve."""


async def resolved(host: str) -> str | None:
    """Of a name that is not known, None."""
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    try:
        async with asyncio.timeout(RESOLVE_S):
            found = await asyncio.get_running_loop().getaddrinfo(host, None)
        return str(found[0][4][0])
    except (OSError, UnicodeError) as error:  # a timeout is an OSError
        log.warning("the quota of IP %r has no effect: the name is not known: %s", host[:200], error)
        return None


ZOOKEEPER_PORT = 2181
_HOST_OF_ZOOKEEPER = re.compile(r"[\w.%:-]+")
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
    hosts = tuple(_zookeeper(part.strip()) for part in servers.split(",") if part.strip())
    if not hosts:
        raise ValueError("zookeeper.connect: it names no host")
    return ConnectString(hosts, "".join(f"/{name}" for name in names))


def _zookeeper(part: str) -> tuple[str, int]:
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
    if not _HOST_OF_ZOOKEEPER.fullmatch(host) or (":" in host and not is_address(host)):
        raise ValueError("zookeeper.connect: a part of it is no host (a login does not belong there)")
    if not port:
        return host, ZOOKEEPER_PORT
    number = whole_number(port, 1, 65535)
    if number is None:
        raise ValueError("zookeeper.connect: a part of it ends with no port")
    return host, number
