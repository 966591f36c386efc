"""`kafka-reassign-rpc watch`: shows the moves of any Kafka cluster."""

import argparse
import asyncio
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.cli.http_settings import http_security, page_address, status_page
from kafka_reassign_rpc.cli.long_running import announce, run_until_signalled, set_up_logging
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import Setting, add_flags, read_settings
from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.cli.webhook_settings import webhook_config
from kafka_reassign_rpc.client import client_configs, load_properties
from kafka_reassign_rpc.controller.telemetry.event_log import EventLog
from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.watch.clusters import WatchedCluster, clusters

log = logging.getLogger(__name__)

HELP = "show everybody's moves on any Kafka cluster, and change nothing"
DESCRIPTION = """\
Looks at a cluster (ZooKeeper mode or KRaft, stock Kafka or this product) and shows the moves of everybody: bytes,
rates, remaining times and why a move stands still. The status page, its API, /metrics and the event log are those of
`kafka-reassign-rpc serve`. It changes nothing. It needs the operation DESCRIBE on the cluster and on topics, and
DESCRIBE_CONFIGS to see throttles; what it may not see, it names.

Prints `ready metrics=HOST:PORT page=http://HOST:PORT/` at once, whether the cluster answers yet or not. SIGTERM or
Ctrl-C ends it. Several may watch one cluster, and one may watch several clusters.
"""
EPILOG = """\
exit codes: 0 it was ended by a signal, 1 it cannot listen, 2 wrong flags or settings
example:    kafka-reassign-rpc watch --bootstrap-server broker1:9092 --status-page full
"""
_TAKEN = ("metrics.", "status.page", "event.log.", "webhook.", "log.", "ssl.", "kafka.config.other.names")
LISTENER = ("127.0.0.1", 8090)
WATCH_SETTINGS = tuple(
    one._replace(default=LISTENER, default_words="127.0.0.1:8090")
    if one.name == "metrics.listener"
    else one._replace(default_words="no event log is kept")
    if one.name == "event.log.dir"
    else one
    for one in SETTINGS
    if one.name.startswith(_TAKEN)
)
CLUSTERS = Setting("cluster", clusters, (), "Several clusters, as tables of the settings file: a list has no flag.")
BOOTSTRAP_VARIABLE = "KAFKA_REASSIGN_BOOTSTRAP_SERVER"
PATIENCE_MS = 10_000
"""How long a call tries to get an answer, unless --command-config says otherwise."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument(
        "--bootstrap-server",
        default=os.environ.get(BOOTSTRAP_VARIABLE),
        metavar="HOST:PORT[,…]",
        help="one or more nodes of the cluster, separated by commas (default: the environment variable"
        f" {BOOTSTRAP_VARIABLE}). Several clusters are tables [[cluster]] in the file of --config instead, with name,"
        " bootstrap-server and command-config",
    )
    parser.add_argument(
        "--command-config", metavar="FILE", help="a Java properties file with configs of the client, as Kafka's tools"
    )
    add_flags(parser, WATCH_SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    from kafka_reassign_rpc.watch.cluster_watch import ClusterWatch  # it takes a while to import
    from kafka_reassign_rpc.watch.served import ServedWatch

    values = {**read_settings(arguments, (*WATCH_SETTINGS, CLUSTERS)), "listeners": (), "advertised.listeners": None}
    set_up_logging(values["log.level"], values["log.format"])
    clusters = _clusters(arguments, values[CLUSTERS.name])
    configs = [_configs(one) for one in clusters]
    security = http_security(values)
    page = status_page(values, security)
    webhooks = webhook_config(values)

    async def main(stop: asyncio.Event) -> None:
        watches = [
            ClusterWatch(own, _event_log(values, one.name), webhooks, one.name, full=page == "full")
            for one, own in zip(clusters, configs, strict=True)
        ]
        served = ServedWatch(watches, values["metrics.listener"], security, page=page != "off")
        try:
            async with served:
                shown = page_address(served.address, {**values, "status.page": page})
                announce(f"ready metrics={served.address}" + ("" if shown is None else f" page={shown}"))
                await stop.wait()
        except OSError as error:
            where = "{}:{}".format(*values["metrics.listener"])
            raise OSError(f"metrics.listener: cannot listen on {where}: {error_text(error)}") from error

    return run_until_signalled(main, values["log.format"])


def _clusters(arguments: argparse.Namespace, named: Sequence[WatchedCluster]) -> Sequence[WatchedCluster]:
    if not named:
        if not arguments.bootstrap_server:
            raise UsageError(
                f"--bootstrap-server or {BOOTSTRAP_VARIABLE} is missing, and --config has no [[cluster]]: say which"
                " cluster to watch"
            )
        return [WatchedCluster("", arguments.bootstrap_server, arguments.command_config)]
    if arguments.bootstrap_server or arguments.command_config:
        raise UsageError(
            f"{arguments.config} has [[cluster]]: its bootstrap-server and command-config stand there, and not in"
            f" --bootstrap-server, {BOOTSTRAP_VARIABLE} or --command-config"
        )
    return named


def _configs(cluster: WatchedCluster) -> dict[str, Any]:
    file = cluster.command_config
    try:
        properties = load_properties(file, _warn) if file else {}
        patience = {"request.timeout.ms": str(PATIENCE_MS), "default.api.timeout.ms": str(PATIENCE_MS)}
        return {
            "client_id": "kafka-reassign-watch",
            **client_configs(cluster.bootstrap, {**patience, **properties}, _warn),
        }
    except BadSetting as error:
        place = f"cluster {cluster.name}: command-config" if cluster.name else "--command-config"
        raise UsageError(f"{place}: {error}") from None


def _warn(text: str) -> None:
    log.warning("%s", text)


def _event_log(values: dict[str, Any], cluster: str) -> EventLog | None:
    """Of several clusters each has a directory of its own, of its name."""
    if not values["event.log.dir"]:
        return None
    return EventLog(
        Path(values["event.log.dir"]) / cluster,
        file_bytes=values["event.log.file.bytes"],
        files=values["event.log.files"],
        refusal_files=values["event.log.refusals.files"],
        group_read=values["event.log.group.read"],
    )
