"""Parsers of the values of flags and settings. Each returns the value, or raises ValueError with what was expected.

A value is the text of a flag, or what a TOML file holds: text, a number or a boolean.
"""

import re
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

from kafka_reassign_rpc.core.acls.acl_authorizer import CLASS_NAME
from kafka_reassign_rpc.core.acls.acl_binding import parse_super_users
from kafka_reassign_rpc.core.settings.setting_kinds import Kind
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.security.properties import Password
from kafka_reassign_rpc.support.host_port import BadAddress, host_port, parse_connect_string
from kafka_reassign_rpc.support.human_units import parse_duration_ms, parse_size, without_unit
from kafka_reassign_rpc.support.secrecy import told, told_class

LONGEST_HOST_NAME = 253
NO_PROTOCOL = ""
"""The security protocol of a parsed listener: listener.security.protocol.map says it (see `listener_settings`)."""


def whole(low: int, high: int = 2**63 - 1) -> Callable[[Any], int]:
    """A parser of whole numbers from `low` to `high`."""

    def parse(value: Any) -> int:
        try:
            number = int(value)
        except (TypeError, ValueError):
            raise ValueError(f"expected a whole number, got {told(value)}") from None
        if not low <= number <= high or isinstance(value, float | bool):
            raise ValueError(f"expected a whole number from {low} to {high}, got {told(value)}")
        return number

    return parse


def byte_count(low: int) -> Callable[[Any], int]:
    """A parser of bytes, from `low`: 50MB, 500MiB, or a plain number."""
    return _with_unit(whole(low, 2**63 - 1), parse_size, "50MB, 500MiB")


def byte_rate(low: int) -> Callable[[Any], int]:
    """A parser of bytes per second, from `low`: 50MB, 5B, or a plain number that is not too small to be meant."""
    parse = byte_count(low)

    def parse_rate(value: Any) -> int:
        if problem := without_unit(str(value)):
            raise ValueError(problem)
        return parse(value)

    return parse_rate


def milliseconds(low: int) -> Callable[[Any], int]:
    """A parser of milliseconds, from `low`: 20s, 5min, or a plain number of milliseconds."""
    return _with_unit(whole(low, 2**63 - 1), parse_duration_ms, "20s, 5min")


def seconds(low: int, high: int = 2**63 - 1) -> Callable[[Any], int]:
    """A parser of whole seconds from `low` to `high`: 20s, 5min, or a plain number of seconds."""

    def parse_seconds(value: str) -> int | None:
        ms = None if value.strip().isdecimal() else parse_duration_ms(value)
        return None if ms is None or ms % 1000 else ms // 1000

    return _with_unit(whole(low, high), parse_seconds, "20s, 5min")


def _with_unit(plain: Callable[[Any], int], parse: Callable[[str], int | None], examples: str) -> Callable[[Any], int]:
    def parse_either(value: Any) -> int:
        found = parse(value) if isinstance(value, str) else None
        try:
            return plain(value if found is None else found)
        except ValueError as error:
            raise ValueError(f"{error}; with a unit: {examples}") from None

    return parse_either


def share(low: float, high: float = 1.0) -> Callable[[Any], float]:
    """A parser of numbers from `low` to `high`."""

    def parse(value: Any) -> float:
        try:
            number = float(value)
        except ValueError:
            raise ValueError(f"expected a number, got {told(value)}") from None
        if not low <= number <= high:
            raise ValueError(f"expected a number from {low} to {high}, got {told(value)}")
        return number

    return parse


def text(value: Any) -> str:
    """Text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"expected text, got {told(value)}")
    return value.strip()


def text_or_empty(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, got {told(value)}")  # noqa: TRY004 (as every parser here)
    return value.strip()


def listed(value: Any) -> str:
    """A list separated by commas: text, or an array of texts."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = ",".join(value)
    return text(value)


def words(value: Any) -> tuple[str, ...]:
    """The parts of such a list."""
    return tuple(word.strip() for word in listed(value).split(",") if word.strip())


def password(value: Any) -> Password:
    """A secret, without blanks around it (ConfigDef.Type.PASSWORD). What was wrong is said without it."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("expected text")
    return Password(value.strip())


_BEFORE_KAFKA_3 = "kafka.security.auth.SimpleAclAuthorizer"
_IN_KRAFT = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def authorizer_class(value: Any) -> str:
    """The one class of authorizers whose decisions the server makes; empty for none."""
    name = text_or_empty(value)
    if name in ("", CLASS_NAME):
        return name
    why = "this server runs no Java classes"
    if name == _BEFORE_KAFKA_3:
        why = "Kafka 3.0 removed it: AclAuthorizer decides by the same ACLs"
    elif name == _IN_KRAFT:
        why = "its ACLs are in KRaft, not in ZooKeeper"
    raise ValueError(f"expected {CLASS_NAME} or nothing, not {told_class(name)}: {why}")


def super_users(value: Any) -> frozenset[str]:
    """Principals, separated by semicolons; empty for none."""
    return parse_super_users(text_or_empty(value))


class OneOf:
    """Parses one of these words."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    def __call__(self, value: Any) -> str:
        if value not in self.choices:
            raise ValueError(f"expected one of {', '.join(self.choices)}, got {told(value)}")
        return str(value)


def of_kind(kind: Kind) -> Callable[[Any], Any]:
    """A parser of what a setting of all servers may be."""

    def parse(value: Any) -> Any:
        found = kind.read(str(value))
        if found is None:
            raise ValueError(f"expected {kind.expected}, got {told(value)}")
        return found

    return parse


def client_auth(value: Any) -> str:
    """One of Kafka's three words, in upper or lower case (SslClientAuth.forConfig). A slip ends the start also where no
    listener has TLS yet."""
    return OneOf("required", "requested", "none")(str(value).lower())


def true_or_false(value: Any) -> bool:
    """A boolean, or one of the words `true` and `false`."""
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise ValueError(f"expected true or false, got {told(value)}")


def zookeeper_connect(value: Any) -> str:
    """A ZooKeeper connect string. Its form is checked; the text itself is returned."""
    given = text(value)
    parse_connect_string(given)
    return given


def host_and_port(value: Any) -> tuple[str, int]:
    """`HOST:PORT`; an IPv6 address is in brackets."""
    place = _place(text(value))
    if place is None:
        raise ValueError(f"expected HOST:PORT, got {told(value)}")
    return place


def _place(given: str) -> tuple[str, int] | None:
    try:
        host, port = host_port(given)
    except BadAddress:
        return None
    return host, port


_HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")


def host_names(value: Any) -> frozenset[str]:
    """`NAME,…`, in small letters: names alone, without a scheme or port."""
    names = [part.strip().lower() for part in listed(value).split(",") if part.strip()]
    for name in names:
        if len(name) > LONGEST_HOST_NAME or not _HOST_NAME.fullmatch(name):
            raise ValueError(f"expected names of hosts, without scheme, port or wildcard, got {told(name)}")
    return frozenset(names)


def counts_by_address(value: Any) -> dict[str, int]:
    """`IP:COUNT,…` as counts by IP address. An IPv6 address may be in brackets."""
    found = {}
    for part in text_or_empty(value).split(","):
        if not part.strip():
            continue
        address, _, count = part.strip().rpartition(":")
        try:
            found[str(ip_address(address.strip("[]")))] = whole(0, 2**31 - 1)(count)
        except ValueError:
            raise ValueError(f"expected IP:CONNECTIONS, got {told(part.strip())}") from None
    return found


def listeners(value: Any) -> tuple[Endpoint, ...]:
    """`NAME://HOST:PORT,…`, without their security protocols. Names are in capitals, as in Kafka."""
    found = []
    for part in text(value).split(","):
        name, separator, rest = part.strip().partition("://")
        place = _place(rest) if separator else None
        if place is None:
            raise ValueError(f"expected NAME://HOST:PORT, got {told(part.strip())}")
        found.append(Endpoint(name.upper(), NO_PROTOCOL, *place))
    if len({endpoint.listener for endpoint in found}) != len(found):
        raise ValueError("a listener's name is there twice")
    return tuple(found)
