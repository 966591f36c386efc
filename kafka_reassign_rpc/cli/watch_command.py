"""`kafka-reassign-rpc watch`: shows the moves of any Kafka cluster."""

import argparse
import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.cli.cluster_access import patient_properties
from kafka_reassign_rpc.cli.cluster_settings import BOOTSTRAP, CLUSTERS, COMMAND_CONFIG, WATCH
from kafka_reassign_rpc.cli.http_settings import http_security, page_address, status_page
from kafka_reassign_rpc.cli.long_running import announce, run_until_signalled, set_up_logging
from kafka_reassign_rpc.cli.server_settings import CORE_DUMPS, SETTINGS_OF_WATCH, secret_files
from kafka_reassign_rpc.cli.settings_reader import GIVEN, add_flags, read_settings
from kafka_reassign_rpc.cli.webhook_settings import webhook_config
from kafka_reassign_rpc.client import client_configs
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.controller.telemetry.event_log import EventLog
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.security.secret_files import readable
from kafka_reassign_rpc.server import process_limits
from kafka_reassign_rpc.support.cluster_name import of_cluster
from kafka_reassign_rpc.support.counted import first_of
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.watch.clusters import WatchedCluster

log = logging.getLogger(__name__)

HELP = "show everybody's moves on any Kafka cluster, and change nothing"
DESCRIPTION = """\
Looks at a cluster (ZooKeeper mode or KRaft, stock Kafka or this product) and shows the moves of everybody: bytes,
rates, remaining times and why a move stands still. The status page, its API, /metrics and the event log are those of
`kafka-reassign-rpc serve`. It changes nothing. It needs the operation DESCRIBE on the cluster and on topics, and
DESCRIBE_CONFIGS to see throttles; what it may not see, it names.

Prints `ready metrics=HOST:PORT page=http://HOST:PORT/` at once, whether the cluster answers yet or not. SIGTERM or
Ctrl-C ends it. Several may watch one cluster, and one may watch several clusters: as tables [[cluster]] in the file of
--config, with name, bootstrap-server and command-config. `kafka-reassign-rpc serve --watch` is the same with the flags
and the file of serve.
"""
EPILOG = """\
exit codes: 0 it was ended by a signal, 1 it cannot listen, 2 wrong flags or settings
example:    kafka-reassign-rpc watch --bootstrap-server broker1:9092 --status-page full
"""
_TAKEN = (
    *("metrics.", "listener.name.metrics.", "status.page", "event.log.", "webhook.", "log.", "ssl."),
    *("kafka.config.other.names", CORE_DUMPS, "loop", BOOTSTRAP, COMMAND_CONFIG, CLUSTERS),
)
"""How the names of settings begin that mean something to a process that only looks."""
WATCH_SETTINGS = tuple(one for one in SETTINGS_OF_WATCH if one.name.startswith(_TAKEN))
NAMED = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, WATCH_SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    from kafka_reassign_rpc.watch.served_http import (
        ClusterWatch,  # it takes a while to import
        ServedWatch,
    )

    values = {**read_settings(arguments, SETTINGS_OF_WATCH), "listeners": (), "advertised.listeners": None}
    set_up_logging(values["log.level"], values["log.format"])
    clusters = _clusters(arguments.config, values)
    if not values[CORE_DUMPS]:
        process_limits.forbid_core_dumps()
    for text in readable(secret_files(values)):
        log.warning("%s", text)
    if in_vain := [name for name in values[GIVEN] if name != WATCH and not name.startswith(_TAKEN)]:
        log.info("this process only looks: settings of a controller have no effect (%s)", first_of(in_vain, NAMED))
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
            where = str(Address(*values["metrics.listener"]))
            raise OSError(f"metrics.listener={where}: {error_text(error)}") from error

    return run_until_signalled(main, values["log.format"], loop=values["loop"])


def _clusters(file: str | None, values: Mapping[str, Any]) -> Sequence[WatchedCluster]:
    named, bootstrap, config = (values[name] for name in (CLUSTERS, BOOTSTRAP, COMMAND_CONFIG))
    if not named:
        if not bootstrap:
            raise UsageError(
                "--bootstrap-server or KAFKA_REASSIGN_BOOTSTRAP_SERVER is missing, and --config has no [[cluster]]: say"
                " which cluster to watch"
            )
        return [WatchedCluster("", bootstrap, config)]
    if {BOOTSTRAP, COMMAND_CONFIG} & {*values[GIVEN]}:
        raise UsageError(
            f"{file} has [[cluster]]: its bootstrap-server and command-config belong there, and neither in flags nor in"
            f" keys ({BOOTSTRAP}, {COMMAND_CONFIG})"
        )
    return named  # type: ignore[no-any-return]


def _configs(cluster: WatchedCluster) -> dict[str, Any]:
    which = of_cluster(cluster.name)

    def warn(text: str) -> None:
        log.warning("%s%s", which, text)

    try:
        found = client_configs(cluster.bootstrap, patient_properties(cluster.command_config, warn=warn), warn)
    except BadSetting as error:
        raise UsageError(f"{which}{'' if which else '--'}command-config: {error}") from None
    try:
        client_settings(found)  # an address that is none is no cluster that does not answer
    except BadSetting as error:
        raise UsageError(f"{which}{error}") from None
    return {"client_id": "kafka-reassign-watch", **found}


def _event_log(values: dict[str, Any], cluster: str) -> EventLog | None:
    """The event log. Where there are several clusters, each has a directory with its name."""
    if not values["event.log.dir"]:
        return None
    return EventLog(
        Path(values["event.log.dir"]) / cluster,
        file_bytes=values["event.log.file.bytes"],
        files=values["event.log.files"],
        refusal_files=values["event.log.refusals.files"],
        group_read=values["event.log.group.read"],
    )
