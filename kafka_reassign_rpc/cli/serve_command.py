"""`kafka-reassign-rpc serve`: the controller, on the operator's ZooKeeper or on a whole cluster of its own."""

import argparse
import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.cli import settings
from kafka_reassign_rpc.cli.fleet_child import fleet_process
from kafka_reassign_rpc.cli.long_running import LEVELS, announce, run_until_signalled, set_up_logging
from kafka_reassign_rpc.cli.settings import Setting, whole
from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.controller.duties.leader_balance import LeaderBalance
from kafka_reassign_rpc.controller.duties.progress_sampling import INTERVAL, STALL_TIMEOUT, Sampling
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess, EventLogConfig, ServerConfig
from kafka_reassign_rpc.core.healing import lost_brokers
from kafka_reassign_rpc.core.healing.lost_brokers import Healing
from kafka_reassign_rpc.core.restrictions import (
    MAX_BYTES_IN_FLIGHT,
    MAX_PER_BROKER,
    MAX_PER_CLUSTER,
    REPLICATION_FACTOR_CHANGE_ALLOWED,
    Rules,
)
from kafka_reassign_rpc.core.restrictions import InFlightCaps as MoveLimits
from kafka_reassign_rpc.core.state.cluster import Endpoint
from kafka_reassign_rpc.core.throttling.observed_throughput import ASSUMED, HealingThrottle
from kafka_reassign_rpc.embedded_zookeeper.zookeeper_process import EmbeddedZooKeeper
from kafka_reassign_rpc.server.connection_limits import ServerLimits

HELP = "run the controller (without --zookeeper-connect: with a ZooKeeper and six simulated brokers of its own)"
DESCRIPTION = """\
A server that speaks the Kafka protocol and is the cluster's reassignment controller. Point any AdminClient or
kafka-reassign-partitions.sh at it.

With --zookeeper-connect it serves the cluster whose brokers are registered there. Without, it starts a real
ZooKeeper (needs Java 17 or later) and six simulated brokers with some topics, kept in --data-dir between
starts; Ctrl-C ends all of it.

Prints `ready bootstrap=HOST:PORT zookeeper=HOST:PORT brokers=1,2,…` when it can be used, with `metrics=HOST:PORT`
where those are served.
"""

DEMO_BROKERS = (1, 2, 3, 4, 5, 6)
DEMO_RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
DEMO_TOPICS = ("orders:12:3:50000000", "payments:6:3:20000000", "clicks:24:2:100000000")

PROTOCOLS = ("PLAINTEXT",)


_HEALING = Healing()


def _listeners(value: Any) -> tuple[Endpoint, ...]:
    """`NAME://HOST:PORT,…`; the name is the security protocol too, as in Kafka."""
    found = []
    for part in settings.text(value).split(","):
        name, separator, place = part.strip().partition("://")
        host, colon, port = place.rpartition(":")
        if not separator or not colon or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"expected NAME://HOST:PORT, got {part.strip()!r}")
        if name not in PROTOCOLS:
            raise ValueError(f"listener {name!r}: this version serves {', '.join(PROTOCOLS)}")
        found.append(Endpoint(name, name, host.strip("[]"), int(port)))
    if len({endpoint.listener for endpoint in found}) != len(found):
        raise ValueError("a listener's name stands twice")
    return tuple(found)


def _place(value: Any) -> tuple[str, int]:
    host, colon, port = settings.text(value).rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"expected HOST:PORT, got {value!r}")
    return host.strip("[]"), int(port)


SETTINGS = (
    Setting("zookeeper.connect", settings.zookeeper_connect, None, "HOST:PORT[,HOST:PORT…][/CHROOT] of the cluster"),
    Setting("zookeeper.session.timeout.ms", whole(1000), 18_000, "how long ZooKeeper keeps us without a sign of life"),
    Setting("zookeeper.connection.timeout.ms", whole(1), 30_000, "how long to try at the start"),
    Setting(
        "listeners",
        _listeners,
        (Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092),),
        "NAME://HOST:PORT,… where to listen; port 0: one that is free",
    ),
    Setting("advertised.listeners", _listeners, None, "what clients and brokers are told, where it differs"),
    Setting("broker.id", whole(0, 2**31 - 1), 1000, "our id in Metadata; no broker may have it"),
    Setting(
        "inter.broker.listener.name", settings.text, None, "the brokers' listener to connect to; the first if not given"
    ),
    Setting("controller.seize", settings.flag, True, "take over from a broker that is controller when we start"),
    Setting("auto.leader.rebalance.enable", settings.flag, True, "elect preferred leaders from time to time"),
    Setting("leader.imbalance.check.interval.seconds", whole(1), 300, "how often"),
    Setting(
        "leader.imbalance.per.broker.percentage", whole(0, 100), 10, "above which share of partitions led elsewhere"
    ),
    Setting(
        REPLICATION_FACTOR_CHANGE_ALLOWED,
        settings.flag,
        True,
        "whether a reassignment may change a replication factor; the cluster's dynamic config stands above it",
    ),
    Setting(
        INTERVAL,
        whole(0),
        5000,
        "how often brokers are asked how far moves are, while there are any (above 20,000 moves less often); 0: never",
    ),
    Setting(STALL_TIMEOUT, whole(1), 60_000, "a move that gets nowhere for so long is reported as stalled"),
    Setting(
        MAX_PER_BROKER,
        whole(-1, 2**31 - 1),
        -1,
        "moves in flight that bring in or are led by one broker (-1: any number); what is over waits in the queue;"
        " the cluster's dynamic config stands above it, as above the next two",
    ),
    Setting(MAX_PER_CLUSTER, whole(-1, 2**31 - 1), -1, "moves in flight in all (-1: any number)"),
    Setting(MAX_BYTES_IN_FLIGHT, whole(-1), -1, "bytes that moves in flight have to copy in all (-1: any number)"),
    Setting(
        lost_brokers.INTERVAL,
        whole(-1, lost_brokers.MAX_INTERVAL_MS),
        _HEALING.interval_ms,
        "how long a broker has to be gone before its replicas are moved elsewhere; -1: never. For this one and those"
        " below the cluster's dynamic config stands above the setting",
    ),
    Setting(
        lost_brokers.ALERT_INTERVAL,
        whole(-1, lost_brokers.MAX_INTERVAL_MS),
        _HEALING.alert_interval_ms,
        "how long it has to be gone before an alert is logged, at most the interval; -1: half the interval",
    ),
    Setting(
        lost_brokers.MAX_BROKERS, whole(0), _HEALING.max_brokers, "with more brokers gone than this, nothing is healed"
    ),
    Setting(
        lost_brokers.MAX_PERCENTAGE,
        whole(0, 100),
        _HEALING.max_percentage,
        "with a greater share of the brokers gone than this, nothing is healed",
    ),
    Setting(
        lost_brokers.THROTTLE,
        HealingThrottle.parse,
        _HEALING.throttle,
        "bytes/s of each broker that repairs may take (-1: all), or a share (50%) of the highest rate at which a broker"
        f" was seen to receive moves that nothing throttled; as long as none was, of {ASSUMED} B/s",
    ),
    Setting(lost_brokers.CHUNK, whole(1), _HEALING.chunk, "moves of repairs under way at a time"),
    Setting(
        lost_brokers.CANCEL_ON_RETURN,
        settings.flag,
        _HEALING.cancel_on_return,
        "cancel what is under way of a repair when its broker comes back; what has not started never starts then",
    ),
    Setting("max.connections", whole(0), ServerLimits().max_connections, "connections at a time"),
    Setting(
        "max.connections.per.ip",
        whole(0),
        ServerLimits().max_connections_per_ip,
        "connections at a time from one address",
    ),
    Setting(
        "max.connection.creation.rate",
        whole(1),
        ServerLimits().max_connection_creation_rate,
        "new connections per second",
    ),
    Setting(
        "connections.max.idle.ms",
        whole(1),
        ServerLimits().connections_max_idle_ms,
        "idle connections are closed after this",
    ),
    Setting("socket.request.max.bytes", whole(512), ServerLimits().socket_request_max_bytes, "the largest request"),
    Setting(
        "queued.max.requests", whole(1), ServerLimits().queued_max_requests, "requests in work before reading stops"
    ),
    Setting("data.dir", settings.text, ".data", "of the cluster of our own, and of what is recorded"),
    Setting(
        "event.log.dir",
        settings.maybe_empty,
        None,
        "where each decision is recorded, with who asked for it, as JSON lines; empty: nowhere; if not given:"
        " events-ID in data.dir",
    ),
    Setting(
        "metrics.listener",
        _place,
        None,
        "HOST:PORT where /metrics (Prometheus), /health and /ready are served over HTTP, to anybody",
    ),
    Setting("event.log.file.bytes", whole(65_536), 16 * 2**20, "so large is a file of the event log at most"),
    Setting("event.log.files", whole(2), 8, "so many of its files are kept"),
    Setting("log.level", settings.one_of(*LEVELS), "INFO", "of what is logged on standard error"),
    Setting("loop", settings.one_of("auto", "uvloop", "asyncio"), "auto", "which event loop"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    settings.add_flags(parser, SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    values = settings.read(arguments, SETTINGS)
    if values["advertised.listeners"] is not None and len(values["advertised.listeners"]) != len(values["listeners"]):
        raise UsageError("--advertised-listeners: one is needed for each of --listeners")
    if values["zookeeper.connect"] is None and values["broker.id"] in DEMO_BROKERS:
        raise UsageError(f"--broker-id: {values['broker.id']} is one of the simulated brokers")
    set_up_logging(values["log.level"])

    async def main(stop: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            own = values["zookeeper.connect"] is None
            if own:
                zookeeper = EmbeddedZooKeeper(Path(values["data.dir"]) / "zookeeper")
                values["zookeeper.connect"] = (await stack.enter_async_context(zookeeper)).address
            server = await stack.enter_async_context(ControllerProcess(_configuration(values)))
            await server.ready()
            if own:
                # After the server, so that the brokers find a controller when they come and when they go.
                await stack.enter_async_context(fleet_process(_fleet_arguments(values)))
                await server.brokers_seen(DEMO_BROKERS)
            announce(
                f"ready bootstrap={server.bootstrap} zookeeper={values['zookeeper.connect']}"
                f" brokers={','.join(map(str, server.live_brokers())) or 'none'}"
                + (f" metrics={server.metrics_address}" if server.metrics_address else "")
            )
            await stop.wait()

    return run_until_signalled(main, loop=None if values["loop"] == "auto" else values["loop"])


def _fleet_arguments(values: dict[str, Any]) -> list[str]:
    arguments = [
        "--zookeeper-connect",
        values["zookeeper.connect"],
        "--broker-ids",
        ",".join(map(str, DEMO_BROKERS)),
        "--data-dir",
        str(Path(values["data.dir"]) / "fleet"),
        "--log-level",
        values["log.level"],
    ]
    for broker, rack in DEMO_RACKS.items():
        arguments += ["--rack", f"{broker}:{rack}"]
    for topic in DEMO_TOPICS:
        arguments += ["--topic", topic]
    return arguments


def _event_log(values: dict[str, Any]) -> EventLogConfig | None:
    directory = values["event.log.dir"]
    if directory is None:
        directory = Path(values["data.dir"]) / f"events-{values['broker.id']}"
    elif not directory:
        return None
    return EventLogConfig(Path(directory), values["event.log.file.bytes"], values["event.log.files"])


def _configuration(values: dict[str, Any]) -> ServerConfig:
    return ServerConfig(
        zookeeper_connect=values["zookeeper.connect"],
        session_timeout_ms=values["zookeeper.session.timeout.ms"],
        connection_timeout_ms=values["zookeeper.connection.timeout.ms"],
        listeners=values["listeners"],
        advertised=values["advertised.listeners"],
        server_id=values["broker.id"],
        broker_listener=values["inter.broker.listener.name"],
        seize=values["controller.seize"],
        balance=LeaderBalance(
            values["auto.leader.rebalance.enable"],
            values["leader.imbalance.check.interval.seconds"],
            values["leader.imbalance.per.broker.percentage"],
        ),
        event_log=_event_log(values),
        sampling=Sampling(values[INTERVAL] / 1000, values[STALL_TIMEOUT] / 1000),
        metrics_listener=values["metrics.listener"],
        rules=Rules(
            values[REPLICATION_FACTOR_CHANGE_ALLOWED],
            MoveLimits(values[MAX_PER_BROKER], values[MAX_PER_CLUSTER], values[MAX_BYTES_IN_FLIGHT]),
            healing=_healing(values),
        ),
        limits=ServerLimits(
            max_connections=values["max.connections"],
            max_connections_per_ip=values["max.connections.per.ip"],
            max_connection_creation_rate=values["max.connection.creation.rate"],
            connections_max_idle_ms=values["connections.max.idle.ms"],
            socket_request_max_bytes=values["socket.request.max.bytes"],
            queued_max_requests=values["queued.max.requests"],
        ),
    )


def _healing(values: dict[str, Any]) -> Healing:
    return Healing(
        interval_ms=values[lost_brokers.INTERVAL],
        alert_interval_ms=values[lost_brokers.ALERT_INTERVAL],
        max_brokers=values[lost_brokers.MAX_BROKERS],
        max_percentage=values[lost_brokers.MAX_PERCENTAGE],
        throttle=values[lost_brokers.THROTTLE],
        chunk=values[lost_brokers.CHUNK],
        cancel_on_return=values[lost_brokers.CANCEL_ON_RETURN],
    )
