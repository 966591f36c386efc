"""`kafka-reassign-rpc fleet`: runs simulated brokers."""

import argparse
import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from kafka_reassign_rpc.cli.long_running import (
    add_log_arguments,
    announce,
    ended_first,
    run_until_signalled,
    set_up_logging,
)
from kafka_reassign_rpc.cli.value_parsers import byte_count, milliseconds, whole, zookeeper_connect
from kafka_reassign_rpc.core.kafka_errors import InvalidTopic
from kafka_reassign_rpc.core.topics.topic_changes import validate_name
from kafka_reassign_rpc.fleet.broker_registration import BrokerIdTaken
from kafka_reassign_rpc.fleet.fleet import Fleet
from kafka_reassign_rpc.fleet.fleet_config import FleetConfig, SeedTopic, parse_bytes, parse_topic
from kafka_reassign_rpc.support.quiet_arguments import UsageError, checked, checked_if_given

_FLEET = FleetConfig(zookeeper_connect="", broker_ids=())
"""With the defaults of its room."""
BROKER_ID = whole(0, 2**31 - 1)

HELP = "run simulated brokers"
DESCRIPTION = """\
Runs simulated brokers. Each has its own listener and its own ZooKeeper session, follows the cluster's controller, and
replicates with a limited bandwidth and under Kafka's replication throttles; it keeps only the sizes of replicas, no
data. Several processes can form one cluster. A simulated broker that is killed, frozen or restarted behaves as a real
one does.

Prints `ready brokers=4,5` when the brokers are registered and can be used. SIGTERM or Ctrl-C ends them with a
controlled shutdown.

The id of a broker that runs, or of a kafka-reassign-rpc server, is refused with exit code 2. After a kill, the same
brokers can be started at once: they wait until ZooKeeper has ended the sessions of their former lives.

A file broker-4-dir-1.failed in --data-dir (touch makes it) takes the second log dir, dir-1, from broker 4, as a disk
that fails. Once the file is deleted, the log dir and what it held are back at the broker's next start. A broker
without any log dir ends.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--zookeeper-connect",
        required=True,
        metavar="HOST:PORT[,…][/CHROOT]",
        help="the ZooKeeper servers of the cluster",
    )
    parser.add_argument("--broker-ids", required=True, metavar="4,5", help="the ids of the brokers")
    parser.add_argument(
        "--rack",
        action="append",
        default=[],
        metavar="[ID:]RACK",
        help="the rack of all these brokers, or of the broker ID; may be repeated",
    )
    parser.add_argument(
        "--bandwidth",
        default=_FLEET.bandwidth,
        metavar="BYTES/S",
        help="bytes per second that each broker can send, and can receive, for replication, such as 50MB "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="NAME:PARTITIONS:RF:BYTES",
        help="create this topic if it does not exist, with BYTES in each partition; may be repeated",
    )
    parser.add_argument(
        "--host", default=_FLEET.host, help="the address on which the brokers listen (default: %(default)s)"
    )
    parser.add_argument(
        "--data-dir",
        default=".data/fleet",
        metavar="DIR",
        help="the directory in which the sizes of replicas survive a kill (default: %(default)s)",
    )
    parser.add_argument(
        "--log-dirs",
        default=_FLEET.log_dirs,
        metavar="N",
        help="the number of log dirs of each broker (default: %(default)s)",
    )
    parser.add_argument(
        "--disk",
        metavar="BYTES",
        help="the disk space of each broker, such as 500MiB; a full broker stops copying (default: no limit)",
    )
    parser.add_argument(
        "--replica-lag-time-max-ms",
        default=_FLEET.replica_lag_time_max_ms,
        metavar="MS",
        help="milliseconds after which a follower that does not catch up leaves the ISR (default: %(default)s)",
    )
    parser.add_argument(
        "--session-timeout-ms",
        default=_FLEET.session_timeout_ms,
        metavar="MS",
        help="the ZooKeeper session timeout of each broker in milliseconds (default: %(default)s)",
    )
    add_log_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    config = configuration(arguments)
    set_up_logging(arguments.log_level, arguments.log_format)

    async def main(stop: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:

            async def start() -> None:
                try:
                    fleet = await stack.enter_async_context(Fleet(config))
                    await fleet.ready()
                except BrokerIdTaken as error:
                    raise UsageError(f"--broker-ids: {error}") from None

            if await ended_first(start(), stop):
                announce(f"ready brokers={','.join(map(str, config.broker_ids))}")
                await stop.wait()

    return run_until_signalled(main, arguments.log_format)


def configuration(arguments: argparse.Namespace) -> FleetConfig:
    """Raises UsageError, which names the wrong flag."""
    ids = tuple(checked("--broker-ids", BROKER_ID, text) for text in arguments.broker_ids.split(","))
    if len(set(ids)) != len(ids):
        raise UsageError(f"--broker-ids: {arguments.broker_ids} names a broker twice")
    return FleetConfig(
        zookeeper_connect=checked("--zookeeper-connect", zookeeper_connect, arguments.zookeeper_connect),
        broker_ids=ids,
        racks=_racks(arguments.rack, ids),
        bandwidth=checked("--bandwidth", byte_count(1), arguments.bandwidth),
        topics=tuple(checked("--topic", _topic, text) for text in arguments.topic),
        data_dir=Path(arguments.data_dir),
        host=arguments.host,
        log_dirs=checked("--log-dirs", whole(1, 1000), arguments.log_dirs),
        disk=checked_if_given("--disk", parse_bytes, arguments.disk),
        replica_lag_time_max_ms=checked(
            "--replica-lag-time-max-ms", milliseconds(1), arguments.replica_lag_time_max_ms
        ),
        session_timeout_ms=checked("--session-timeout-ms", milliseconds(1000), arguments.session_timeout_ms),
    )


def _racks(given: list[str], ids: tuple[int, ...]) -> dict[int, str]:
    racks: dict[int, str] = {}
    for text in given:
        head, separator, rack = text.partition(":")
        if separator:
            broker = checked("--rack", BROKER_ID, head)
            if broker not in ids:
                raise UsageError(f"--rack: broker {broker} is not one of {','.join(map(str, ids))}")
            racks[broker] = rack
        else:
            racks.update(dict.fromkeys(ids, text))
    return racks


def _topic(text: str) -> SeedTopic:
    topic = parse_topic(text)
    try:
        validate_name(topic.name)
    except InvalidTopic as error:
        raise ValueError(str(error)) from None
    return topic
