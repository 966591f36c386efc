"""The settings that limit connections and requests, a part of the server's catalogue."""

from kafka_reassign_rpc.cli.settings_reader import Setting
from kafka_reassign_rpc.cli.value_parsers import counts_by_address, whole
from kafka_reassign_rpc.server import file_descriptors
from kafka_reassign_rpc.server.server_limits import LEAST_PER_IP, ServerLimits

_LIMITS = ServerLimits()
_UNLIMITED = f"{2**31 - 1}, in effect no limit"

CONNECTIONS = "limits on connections and requests"

CONNECTION_SETTINGS: tuple[Setting, ...] = (
    Setting(
        "max.connections",
        whole(0),
        None,
        "Connections at a time. At the limit a newcomer takes the place of another connection: one that has sent no"
        " request, else the one that has been idle longest. Where all are at work, the server closes the newcomer.",
        group=CONNECTIONS,
        metavar="CONNECTIONS",
        default_words="what file descriptors allow, those for ZooKeeper, brokers and monitoring kept back; at most"
        f" {file_descriptors.MOST_CONNECTIONS}",
    ),
    Setting(
        "max.connections.per.ip",
        whole(0),
        None,
        "Connections at a time from one IP address. At the limit a newcomer takes the place of one that has sent no"
        " request; where there is none, the server closes the newcomer.",
        group=CONNECTIONS,
        metavar="CONNECTIONS",
        default_words=f"a quarter of max.connections, at least {LEAST_PER_IP}",
    ),
    Setting(
        "max.connections.per.ip.overrides",
        counts_by_address,
        {},
        "Other limits than max.connections.per.ip for single IP addresses, such as that of a NAT gateway.",
        group=CONNECTIONS,
        metavar="IP:CONNECTIONS[,…]",
        default_words="none",
    ),
    Setting(
        "max.connection.creation.rate",
        whole(1),
        _LIMITS.max_connection_creation_rate,
        "New connections per second. Connections above the limit wait before the server reads from them.",
        group=CONNECTIONS,
        metavar="CONNECTIONS",
        default_words=_UNLIMITED,
    ),
    Setting(
        "max.connection.creation.rate.per.ip",
        whole(1),
        5000,
        "New connections per second from one IP address. The server closes those above the limit at once.",
        group=CONNECTIONS,
        metavar="CONNECTIONS",
    ),
    Setting(
        "slow.client.timeout.ms",
        whole(1),
        _LIMITS.slow_client_timeout_ms,
        "Milliseconds that a client has for its first request, for the rest of a request that it has begun, and for"
        " reading an answer. After that the server closes the connection. Kafka's clients give a request up after 30000"
        " themselves (request.timeout.ms).",
        group=CONNECTIONS,
        metavar="MS",
    ),
    Setting(
        "connections.max.idle.ms",
        whole(1),
        _LIMITS.connections_max_idle_ms,
        "Milliseconds after which the server closes a connection without requests.",
        group=CONNECTIONS,
        metavar="MS",
    ),
    Setting(
        "connection.failed.authentication.delay.ms",
        whole(0, 600_000),
        _LIMITS.connection_failed_authentication_delay_ms,
        "Milliseconds that the answer to a failed authentication waits. Then the connection closes.",
        group=CONNECTIONS,
        metavar="MS",
        of_kafka=True,
    ),
    Setting(
        "socket.request.max.bytes",
        whole(512),
        _LIMITS.socket_request_max_bytes,
        "The size of the largest request that the server accepts, in bytes. At least 512.",
        group=CONNECTIONS,
        metavar="BYTES",
    ),
    Setting(
        "queued.max.requests",
        whole(1),
        _LIMITS.queued_max_requests,
        "Requests in work at a time, of all connections together. At this number the server stops reading.",
        group=CONNECTIONS,
        metavar="REQUESTS",
    ),
)
