"""`kafka-reassign-rpc serve`: runs the controller, on the operator's ZooKeeper or with a whole cluster of its own."""

import argparse
import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec

from kafka_reassign_rpc.cli import security_settings
from kafka_reassign_rpc.cli.cluster_settings import BOOTSTRAP, CLUSTERS, COMMAND_CONFIG, FRONT_SETTINGS, WATCH
from kafka_reassign_rpc.cli.connection_settings import (
    CREATION_RATE,
    brokers_listener,
    protected_listener,
    rates_of_listeners,
)
from kafka_reassign_rpc.cli.http_settings import http_security, page_address, status_page
from kafka_reassign_rpc.cli.listener_settings import complete_listeners, listener_security, sasl_sources
from kafka_reassign_rpc.cli.long_running import announce, ended_first, run_until_signalled, set_up_logging
from kafka_reassign_rpc.cli.main import lacking
from kafka_reassign_rpc.cli.own_cluster import DEMO_BROKERS, fleet_arguments, fleet_process
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.cli.server_settings import CORE_DUMPS, KRAFT, OWN_CLUSTER, SETTINGS, secret_files
from kafka_reassign_rpc.cli.settings_reader import GIVEN, JAVA_ALONE, LEFT_OUT, add_flags, read_settings
from kafka_reassign_rpc.cli.webhook_settings import webhook_config
from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.controller.duties.progress_sampling import INTERVAL, STALL_TIMEOUT, Sampling
from kafka_reassign_rpc.controller.lifecycle.server_config import AuthorizerConfig, EventLogConfig, ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.quotas.windowed_rate import QuotaWindows
from kafka_reassign_rpc.core.settings.broker_settings import AUTHORIZER, FIELDS
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS, consequences, with_values
from kafka_reassign_rpc.embedded_kraft import NODES, EmbeddedKRaft
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.security.secret_files import readable
from kafka_reassign_rpc.server import process_limits
from kafka_reassign_rpc.server.http_server import HttpSecurity
from kafka_reassign_rpc.server.server_limits import ServerLimits, most_per_ip
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.support.secrecy import told_names

log = logging.getLogger(__name__)

HELP = "run the controller, for your cluster or for a simulated one"
USAGE = "kafka-reassign-rpc serve [-h] [--config FILE] [--SETTING VALUE …]"
DESCRIPTION = """\
Runs a server that speaks the Kafka protocol and is the cluster's reassignment controller. Any AdminClient and
kafka-reassign-partitions.sh can use it.

With --zookeeper-connect it serves the cluster whose brokers are registered in that ZooKeeper. Without it, serve starts
a whole cluster of its own: a real ZooKeeper (needs Java 17 or later, and the extra [demo]) and six simulated brokers
with some topics; with --own-cluster kraft, three real brokers in KRaft mode (needs Java 17 or later, and Maven).
--data-dir keeps that cluster between starts, and Ctrl-C ends all of it.

With --bootstrap-server it serves a cluster in KRaft mode: what it decides it keeps in a topic of that cluster, and the
cluster carries it out. Settings of ZooKeeper, of topics and of authorization then have no effect (docs/kraft.md).

With --watch it only looks at a cluster, the one of --bootstrap-server, and is what `kafka-reassign-rpc watch` is.

As soon as the server can be used it prints `ready bootstrap=HOST:PORT zookeeper=HOST:PORT brokers=1,2,…` and, with
--metrics-listener, `metrics=HOST:PORT` and the address of the status page, `page=http://HOST:PORT/`.

Each setting is a flag and a key of the TOML file: --broker-id 7 is "broker.id" = 7. Passwords, keys and [[cluster]] are
keys alone. A flag wins over an environment variable, that over the file of --config, and that over --kafka-config.
Sizes and durations may have a unit: 50MB, 500MiB, 500ms, 20s, 5min.
A setting marked "dynamic" can also be set for all servers while they run, and that value takes precedence:
`kafka-reassign settings --set NAME=VALUE`, or kafka-configs.sh --entity-type brokers --entity-name with the id of a
server. unclean.leader.election.enable and min.insync.replicas are Kafka's own: --entity-default sets them.
"""

ACCESS_TO_ACLS = ("authorizer.zookeeper.ssl.", "authorizer.zookeeper.clientCnxnSocket")
"""How Kafka's authorizer comes to a ZooKeeper of its own, where not as the broker."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    read = read_settings(arguments, SETTINGS)
    if read[WATCH]:
        from kafka_reassign_rpc.cli import watch_command  # it takes a while to import

        return watch_command.run(arguments)
    if CLUSTERS in read[GIVEN]:
        raise UsageError(f"{CLUSTERS} says which clusters to look at: give --watch too, or leave it out")
    is_in_front = BOOTSTRAP in read[GIVEN]  # the variable is for commands that only ask
    if OWN_CLUSTER in read[GIVEN] and (is_in_front or read["zookeeper.connect"] is not None):
        raise UsageError("--own-cluster: it is for a server that is given no cluster")
    if is_in_front or read[OWN_CLUSTER] == KRAFT:
        return _run_in_front_of_kraft(read)
    if of_kraft := [one for one in (COMMAND_CONFIG, *(one.name for one in FRONT_SETTINGS)) if one in read[GIVEN]]:
        raise UsageError(f"{of_kraft[0]} is for a cluster in KRaft mode: give --bootstrap-server too, or leave it out")
    values = complete_listeners(read)
    if values["zookeeper.connect"] is None and (advice := lacking("demo")) is not None:
        raise UsageError(f"--zookeeper-connect is not set, and a ZooKeeper of this command's own {advice}")
    if values["zookeeper.connect"] is None and values["broker.id"] in DEMO_BROKERS:
        raise UsageError(f"--broker-id: {values['broker.id']} is one of the simulated brokers")
    if values["zookeeper.connect"] is None and values["controller.takeover"] == Takeover.NEVER:
        raise UsageError("--controller-takeover: the simulated cluster has no other controller than this server")
    set_up_logging(values["log.level"], values["log.format"])
    if not values[CORE_DUMPS]:
        process_limits.forbid_core_dumps()
    log_left_out(arguments.kafka_config, values[LEFT_OUT])
    config = server_config(values, new_cluster=values["zookeeper.connect"] is None)
    for one in readable(secret_files(values)):
        log.warning("%s", one)
    _log_odd_values(values)

    async def main(stop: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            server: ControllerProcess | None = None

            async def start() -> None:
                nonlocal server
                own = values["zookeeper.connect"] is None
                if own:
                    zookeeper = EmbeddedZooKeeper(Path(values["data.dir"]) / "zookeeper")
                    values["zookeeper.connect"] = (await stack.enter_async_context(zookeeper)).address
                server = await stack.enter_async_context(
                    ControllerProcess(msgspec.structs.replace(config, zookeeper_connect=values["zookeeper.connect"]))
                )
                await server.ready()
                if own:
                    # The brokers start after the server and stop before it: they find a controller when they come and
                    # go.
                    await stack.enter_async_context(fleet_process(fleet_arguments(values)))
                    await server.brokers_seen(DEMO_BROKERS)

            if not await ended_first(start(), stop) or server is None:
                return
            announce(
                f"ready bootstrap={server.bootstrap} zookeeper={values['zookeeper.connect']}"
                f" brokers={','.join(map(str, server.live_brokers())) or 'none'}"
                + _pages(server.metrics_address, values)
            )
            await ended_first(server.ended(), stop)

    return run_until_signalled(main, values["log.format"], loop=values["loop"])


def _run_in_front_of_kraft(values: dict[str, Any]) -> int:
    from kafka_reassign_rpc.cli import kraft_serving  # it takes a while to import

    if values["zookeeper.connect"] is not None:
        raise UsageError("--zookeeper-connect and --bootstrap-server: a server serves one cluster, in either mode")
    set_up_logging(values["log.level"], values["log.format"])
    if not values[CORE_DUMPS]:
        process_limits.forbid_core_dumps()
    if in_vain := kraft_serving.without_effect(values[GIVEN]):
        log.warning("settings that have no effect in front of KRaft: %s", ", ".join(in_vain))
    own = None
    if values[OWN_CLUSTER] == KRAFT:
        if values["broker.id"] in NODES:
            raise UsageError(f"--broker-id: {values['broker.id']} is one of the brokers")
        own = EmbeddedKRaft(Path(values["data.dir"]) / "kraft")
        values |= {BOOTSTRAP: own.bootstrap, COMMAND_CONFIG: None}
    common = server_config({**values, "listeners": (), "advertised.listeners": None})
    config = kraft_serving.kraft_config(values, common)
    _log_odd_values(values)

    async def main(stop: asyncio.Event) -> None:
        await kraft_serving.serve(config, values[BOOTSTRAP], lambda address: _pages(address, values), stop, own)

    return run_until_signalled(main, values["log.format"], loop=values["loop"])


def _log_odd_values(values: Mapping[str, Any]) -> None:
    for one in consequences(own_values(values)):
        log.warning("%s", one)


def own_values(values: Mapping[str, Any]) -> dict[str, str]:
    """Those of settings that all servers may share."""
    return {name: str(values[name]) for name in SERVER_SETTINGS if name in values}


def _pages(metrics_address: str | None, values: dict[str, Any]) -> str:
    if metrics_address is None:
        return ""
    page = page_address(metrics_address, values)
    return f" metrics={metrics_address}" + ("" if page is None else f" page={page}")


def _event_log_config(values: dict[str, Any]) -> EventLogConfig | None:
    directory = values["event.log.dir"]
    if directory is None:
        directory = Path(values["data.dir"]) / f"events-{values['broker.id']}"
    elif not directory:
        return None
    return EventLogConfig(
        Path(directory),
        values["event.log.file.bytes"],
        values["event.log.files"],
        values["event.log.refusals.files"],
        values["event.log.group.read"],
    )


def log_left_out(path: str | None, left_out: Sequence[str]) -> None:
    if path is not None:
        log.info("%s: settings of the broker that have no effect here: %s",
                 path, told_names(left_out))  # fmt: skip
    for name in JAVA_ALONE:
        if name in left_out:
            log.warning("%s: %s has no effect: this server runs no Java classes", path, name)


def server_config(values: dict[str, Any], *, new_cluster: bool = False) -> ServerConfig:
    """Takes settings by their dotted names (see `complete_listeners`). Reads keystores. Raises UsageError."""
    sasl = sasl_sources(values["listeners"], values)
    properties = security_properties(values)
    metrics_security = HttpSecurity() if values["metrics.listener"] is None else http_security(values)
    return ServerConfig(
        zookeeper_connect=values["zookeeper.connect"] or "",
        security=listener_security(values["listeners"], values, sasl),
        sasl=sasl,
        session_timeout_ms=values["zookeeper.session.timeout.ms"],
        connection_timeout_ms=values["zookeeper.connection.timeout.ms"],
        listeners=values["listeners"],
        advertised=values["advertised.listeners"],
        brokers_listener=brokers_listener(values),
        server_id=values["broker.id"],
        links=security_settings.links(properties, values["inter.broker.listener.name"]),
        zookeeper_access=security_settings.access(properties),
        takeover=Takeover(values["controller.takeover"]),
        broker_settings={name: values[name] for name in FIELDS if values.get(name) is not None},
        new_cluster=new_cluster,
        refuses_by_policy=values["broker.policies"] == "refuse",
        event_log=_event_log_config(values),
        sampling=Sampling(values[INTERVAL] / 1000, values[STALL_TIMEOUT] / 1000),
        metrics_listener=values["metrics.listener"],
        authorizer=authorizer_config(values),
        refuses_without_authorizer=values["broker.authorizer"] == "refuse",
        metrics_security=metrics_security,
        status_page=status_page(values, metrics_security),
        webhooks=webhook_config(values),
        settings=with_values(
            DEFAULT_SETTINGS, {one.path: values[name] for name, one in SERVER_SETTINGS.items() if name in values}
        ),
        limits=_limits(values),
    )


def authorizer_config(values: dict[str, Any]) -> AuthorizerConfig | None:
    """None where there is no authorizer. Raises UsageError."""
    if not values.get(AUTHORIZER):
        return None
    access = next((name for name in values.get(LEFT_OUT, ()) if name.startswith(ACCESS_TO_ACLS)), None)
    if access is not None:
        text = "the server comes to authorizer.zookeeper.url as to zookeeper.connect"
        raise UsageError(f"--kafka-config: {access} is not supported: {text}")
    return AuthorizerConfig(
        values["super.users"],
        values["allow.everyone.if.no.acl.found"],
        values["authorizer.zookeeper.url"],
        values["authorizer.zookeeper.session.timeout.ms"],
        values["authorizer.zookeeper.connection.timeout.ms"],
    )


def _limits(values: dict[str, Any]) -> ServerLimits:
    possible = process_limits.most_connections(process_limits.descriptor_limit())
    wanted = values["max.connections"]
    if wanted is not None and wanted > possible:
        log.warning(
            "max.connections is %d: file descriptors do not allow %d (raise ulimit -n for more)", possible, wanted
        )
    connections = possible if wanted is None else min(wanted, possible)
    per_ip = values["max.connections.per.ip"]
    return ServerLimits(
        max_connections=connections,
        max_connections_per_ip=most_per_ip(connections) if per_ip is None else per_ip,
        max_connections_per_ip_overrides=values["max.connections.per.ip.overrides"],
        max_connection_creation_rate=values[CREATION_RATE],
        max_connection_creation_rate_of_listeners=rates_of_listeners(values["listeners"], values),
        protected_listener=protected_listener(values["listeners"], values["inter.broker.listener.name"]),
        quota_windows=_windows("quota.window", values),
        controller_quota_windows=_windows("controller.quota.window", values),
        max_connection_creation_rate_per_ip=values["max.connection.creation.rate.per.ip"],
        connections_max_idle_ms=values["connections.max.idle.ms"],
        slow_client_timeout_ms=values["slow.client.timeout.ms"],
        socket_request_max_bytes=values["socket.request.max.bytes"],
        queued_max_requests=values["queued.max.requests"],
        connection_failed_authentication_delay_ms=values["connection.failed.authentication.delay.ms"],
        socket_listen_backlog_size=process_limits.backlog(process_limits.descriptor_limit()),
    )


def _windows(prefix: str, values: dict[str, Any]) -> QuotaWindows:
    return QuotaWindows(values[f"{prefix}.num"], values[f"{prefix}.size.seconds"] * 1000)
