"""`kafka-reassign-rpc serve --bootstrap-server`: the service in front of a cluster in KRaft mode."""

import asyncio
import ssl
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.cli import own_cluster
from kafka_reassign_rpc.cli.cluster_access import patient_properties, reached_by, warn
from kafka_reassign_rpc.cli.cluster_settings import BOOTSTRAP, BOOTSTRAP_CONTROLLER, COMMAND_CONFIG, IMPORT, LEAD, NODES
from kafka_reassign_rpc.cli.listener_settings import complete_listeners, tls_config
from kafka_reassign_rpc.cli.long_running import announce, ended_first
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.embedded_kraft import EmbeddedKRaft
from kafka_reassign_rpc.kraft.front import FrontNodes, FrontSettings
from kafka_reassign_rpc.kraft.kraft_process import KRaftConfig, KRaftProcess
from kafka_reassign_rpc.kraft.term_duties import Asked
from kafka_reassign_rpc.security.login.sasl_login import client_security
from kafka_reassign_rpc.security.properties import BadSetting, uses_sasl, uses_tls
from kafka_reassign_rpc.server.listener import Listener, tls_context
from kafka_reassign_rpc.support.host_port import Address, is_host_name, is_loopback
from kafka_reassign_rpc.support.quiet_arguments import UsageError

CLIENT_ID = "kafka-reassign-rpc-{}"
_OF_ZOOKEEPER = (
    *("zookeeper.", "authorizer.", "super.users", "allow.everyone.", "controller.takeover", "broker.authorizer"),
    *("broker.policies", "inter.broker.listener.name", "delete.topic.", "auto.leader.", "leader.imbalance."),
    *("unclean.leader.", "num.partitions", "default.replication.", "min.insync."),
)
"""How the names of settings begin that are the brokers' own in front of KRaft."""
BY_CERTIFICATE = (
    "--ssl-client-auth required: in front of KRaft clients that come by a certificate alone are refused, since there is"
    " no login to hand on to a broker; use SASL_SSL here and there, or leave it out"
)
OWN_CERTIFICATE = ("ssl.keystore.", "ssl.key.password")


def kraft_config(values: Mapping[str, Any], common: ServerConfig) -> KRaftConfig:
    """`common`: what servers in front of ZooKeeper have, too. Reads keystores. Raises UsageError."""
    given = complete_listeners(values)
    listeners = given["listeners"]
    if len(listeners) != 1:
        raise UsageError(f"--listeners: in front of KRaft a server has one listener, not {len(listeners)}")
    own, published = listeners[0], (given["advertised.listeners"] or listeners)[0]
    at = Address(published.host, published.port)
    nodes = FrontNodes(values[NODES])
    if (wrong := _misplaced(nodes, own, at)) is not None:
        raise UsageError(f"--front-nodes {nodes}: {wrong}")
    properties = _properties(values[COMMAND_CONFIG])
    try:
        cluster = reached_by(values[BOOTSTRAP], properties, CLIENT_ID.format(common.server_id))
        tls = None
        if uses_tls(own.security_protocol):
            config = tls_config(own, security_properties(values))
            if config.client_auth is ssl.CERT_REQUIRED and not uses_sasl(own.security_protocol):
                raise UsageError(BY_CERTIFICATE)
            tls = tls_context(own.listener, config, keeps_names=nodes is FrontNodes.NAMES)
        without = {name: value for name, value in properties.items() if not name.startswith(OWN_CERTIFICATE)}
        to_brokers = client_security(without).tls
    except BadSetting as error:
        raise UsageError(str(error)) from None
    if uses_sasl(own.security_protocol) != uses_sasl(cluster.protocol):
        raise UsageError(
            f"--listeners: {own.listener} speaks {own.security_protocol}, and the cluster {cluster.protocol}"
            " (security.protocol of --command-config): logins are the cluster's, so both have SASL or neither"
        )
    if (lost := lost_secrecy(own, cluster.protocol)) is not None:
        warn(lost)
    return KRaftConfig(
        upstream=cluster.configs,
        of_controllers=cluster.of_controllers(values[BOOTSTRAP_CONTROLLER]),
        client=cluster.settings,
        asked=Asked(cluster.links, common.sampling, cluster.configs["client_id"]),
        front=FrontSettings(
            listener=Listener(own.host, own.port, own.listener, own.security_protocol, tls),
            advertised=at,
            node_id=common.server_id,
            brokers=cluster.settings.addresses,
            nodes=nodes,
            tls=None if to_brokers is None else to_brokers.load_client().context,
        ),
        lead_s=values[LEAD] / 1000,
        imports=None if values[IMPORT] is None else Path(values[IMPORT]),
        common=common,
    )


def _misplaced(nodes: FrontNodes, own: Endpoint, advertised: Address) -> str | None:
    """What keeps clients from the places of brokers."""
    if nodes is FrontNodes.PORTS and (not own.port or advertised.port != own.port):
        return "the listener needs a port, and is advertised with the same one"
    if nodes is FrontNodes.NAMES and not uses_tls(own.security_protocol):
        return f"{own.listener} speaks {own.security_protocol}, and only with TLS a client says which name it means"
    if nodes is FrontNodes.NAMES and not is_host_name(advertised.host):
        return (
            f"brokers are shown as broker-ID.HOST, and {advertised.host} cannot be HOST: name one with"
            " --advertised-listeners, whose names below it lead here, too"
        )
    return None


def lost_secrecy(own: Endpoint, of_brokers: str) -> str | None:
    """What clients lose here that they have at the brokers: a listener of this server without TLS, reached over a
    network. It is allowed, since something in front of it may have TLS."""
    if uses_tls(own.security_protocol) or not uses_tls(of_brokers) or is_loopback(own.host):
        return None
    logins = " passwords of PLAIN logins among it," if uses_sasl(own.security_protocol) else ""
    with_tls = "SASL_SSL" if uses_sasl(own.security_protocol) else "SSL"
    return (
        f"listeners: {own.listener} speaks {own.security_protocol}, and the brokers {of_brokers}: everybody on the way"
        f" can read and change what clients send to this server,{logins} and act as they. {with_tls} prevents that"
    )


def without_effect(given: Iterable[str]) -> list[str]:
    return [name for name in given if name.startswith(_OF_ZOOKEEPER)]


def _properties(file: str | None) -> dict[str, str]:
    try:
        return patient_properties(file)
    except BadSetting as error:
        raise UsageError(f"--command-config: {error}") from None


async def serve(
    config: KRaftConfig,
    bootstrap: str,
    pages: Callable[[str | None], str],
    stop: asyncio.Event,
    own: EmbeddedKRaft | None = None,
) -> None:
    """`own`: the cluster that starts before the server and ends after it."""
    server = KRaftProcess(config)
    async with AsyncExitStack() as stack:

        async def start() -> None:
            if own is not None:
                await stack.enter_async_context(own)
                await own_cluster.fill(own.bootstrap)
            stack.push_async_exit(server)
            await server.__aenter__()
            await server.ready()

        if await ended_first(start(), stop):
            brokers = ",".join(map(str, server.brokers)) or "none"
            announce(
                f"ready bootstrap={server.bootstrap} cluster={bootstrap} brokers={brokers}"
                + pages(server.metrics_address)
            )
            await ended_first(server.ended(), stop)
