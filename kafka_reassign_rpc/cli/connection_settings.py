"""The settings that limit connections and requests, a part of the server's catalogue."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from kafka_reassign_rpc.cli.settings_reader import Setting, in_group
from kafka_reassign_rpc.cli.value_parsers import counts_by_address, whole
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.security.properties import prefix_of
from kafka_reassign_rpc.server import process_limits
from kafka_reassign_rpc.server.server_limits import CREATION_RATE_PER_IP, LEAST_PER_IP, ServerLimits
from kafka_reassign_rpc.transport.broker_links import CONTROL_PLANE, LISTENER, PROTOCOL

_LIMITS = ServerLimits()
MOST_WINDOWS, LONGEST_WINDOW_S = 100, 3600
"""Bounds of what is kept in memory of each client, and of how long one is made to wait."""
_UNLIMITED = f"{2**31 - 1}, in effect no limit"

CREATION_RATE = "max.connection.creation.rate"

CONNECTION_SETTINGS = in_group(
    "limits on connections and requests",
    Setting(
        "max.connections",
        whole(0),
        None,
        "Connections at a time. At the limit a newcomer takes the place of another connection: one that has sent no"
        " request, else the one that has been idle longest. Where all are at work, the server closes the newcomer.",
        metavar="CONNECTIONS",
        default_words="what file descriptors allow, those for ZooKeeper, brokers and monitoring kept back; at most"
        f" {process_limits.MOST_CONNECTIONS}",
    ),
    Setting(
        "max.connections.per.ip",
        whole(0),
        None,
        "Connections at a time from one IP address. At the limit a newcomer takes the place of one that has sent no"
        " request; where there is none, the server closes the newcomer.",
        metavar="CONNECTIONS",
        default_words=f"a quarter of max.connections, at least {LEAST_PER_IP}",
    ),
    Setting(
        "max.connections.per.ip.overrides",
        counts_by_address,
        {},
        "Other limits than max.connections.per.ip for single IP addresses, such as that of a NAT gateway.",
        metavar="IP:CONNECTIONS[,…]",
        default_words="none",
    ),
    Setting(
        CREATION_RATE,
        whole(1),
        _LIMITS.max_connection_creation_rate,
        "New connections per second, on average over the windows of quota.window.num. Above the limit the server"
        " accepts a connection later, after at most one window. A listener may have a limit of its own; for that of"
        " inter.broker.listener.name, where there are others, only its own holds.",
        metavar="CONNECTIONS",
        default_words=_UNLIMITED,
        of_kafka=True,
        of_listeners=True,
    ),
    Setting(
        "max.connection.creation.rate.per.ip",
        whole(1),
        CREATION_RATE_PER_IP,
        "New connections per second from one IP address. The server closes those above the limit at once.",
        metavar="CONNECTIONS",
    ),
    Setting(
        "slow.client.timeout.ms",
        whole(1),
        _LIMITS.slow_client_timeout_ms,
        "Milliseconds that a client has for its first request, for the rest of a request that it has begun, and for"
        " reading an answer. After that the server closes the connection. Kafka's clients give a request up after 30000"
        " themselves (request.timeout.ms).",
    ),
    Setting(
        "connections.max.idle.ms",
        whole(1),
        _LIMITS.connections_max_idle_ms,
        "Milliseconds after which the server closes a connection without requests.",
    ),
    Setting(
        "connection.failed.authentication.delay.ms",
        whole(0, 600_000),
        _LIMITS.connection_failed_authentication_delay_ms,
        "Milliseconds that the answer to a failed authentication waits. Then the connection closes.",
        of_kafka=True,
    ),
    Setting(
        "socket.request.max.bytes",
        whole(512),
        _LIMITS.socket_request_max_bytes,
        "The size of the largest request that the server accepts, in bytes. At least 512.",
    ),
    Setting(
        "queued.max.requests",
        whole(1),
        _LIMITS.queued_max_requests,
        "Requests in work at a time, of all connections together. At this number the server stops reading.",
        metavar="REQUESTS",
    ),
    Setting(
        "quota.window.num",
        whole(1, MOST_WINDOWS),
        _LIMITS.quota_windows.number,
        "The windows over which the rates of quotas are measured (request_percentage, connection_creation_rate,"
        f" max.connection.creation.rate). At most {MOST_WINDOWS}.",
        metavar="WINDOWS",
        of_kafka=True,
    ),
    Setting(
        "quota.window.size.seconds",
        whole(1, LONGEST_WINDOW_S),
        _LIMITS.quota_windows.size_ms // 1000,
        "Seconds of each of these windows, and the longest time that a quota makes a client wait. At most"
        f" {LONGEST_WINDOW_S}.",
        of_kafka=True,
    ),
    Setting(
        "controller.quota.window.num",
        whole(1, MOST_WINDOWS),
        _LIMITS.controller_quota_windows.number,
        "The windows of controller_mutation_rate: what a client has not used in all of them it may use at"
        f" once. At most {MOST_WINDOWS}.",
        metavar="WINDOWS",
        of_kafka=True,
    ),
    Setting(
        "controller.quota.window.size.seconds",
        whole(1, LONGEST_WINDOW_S),
        _LIMITS.controller_quota_windows.size_ms // 1000,
        f"Seconds of each of these windows. At most {LONGEST_WINDOW_S}.",
        of_kafka=True,
    ),
)


def rates_of_listeners(listeners: Iterable[Endpoint], values: Mapping[str, Any]) -> dict[str, int]:
    """New connections per second of single listeners, by name."""
    names = {one.listener: prefix_of(one.listener) + CREATION_RATE for one in listeners}
    return {listener: values[name] for listener, name in names.items() if name in values}


def protected_listener(listeners: Collection[Endpoint], name: str | None) -> str:
    """The listener of brokers, where there are others (SocketServer.protectedListener); else ""."""
    return name.upper() if name is not None and len(listeners) > 1 else ""


def brokers_listener(values: Mapping[str, Any]) -> str:
    """The listener of this server by which brokers come, where there are several: that of the name by which they know
    their own (NodeToControllerChannelManager)."""
    names = (CONTROL_PLANE, LISTENER, PROTOCOL)
    return next((str(values[name]).upper() for name in names if values.get(name)), "PLAINTEXT")
