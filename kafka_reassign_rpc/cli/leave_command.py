"""`kafka-reassign-rpc leave`: brings a cluster to the state in which nothing of this product is left."""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec

from kafka_reassign_rpc.cli import security_settings
from kafka_reassign_rpc.cli.cluster_access import (
    add_access,
    add_cluster,
    add_timeout,
    in_kraft_mode,
    reached,
    timeout_seconds,
)
from kafka_reassign_rpc.cli.pipeline_jobs import say
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import read_settings
from kafka_reassign_rpc.cli.value_parsers import whole, zookeeper_connect
from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError, client_configs, load_properties
from kafka_reassign_rpc.kraft.state_log.log_reading import LEAD_S
from kafka_reassign_rpc.leaving.facts import Facts
from kafka_reassign_rpc.leaving.kept_file import WrongFile
from kafka_reassign_rpc.leaving.leave import Choices, Stopped, leave
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.support.connection_flags import add_command_config
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.quiet_arguments import UsageError, checked
from kafka_reassign_rpc.support.secrecy import told_path
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.access import Access
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import AuthFailed, InvalidAcl, NoAuth, TransactionFailed, ZkError

HELP = "bring a cluster to the state in which nothing of kafka-reassign-rpc is left"
USAGE = (
    "kafka-reassign-rpc leave {--zookeeper-connect HOST:PORT[,…][/CHROOT] | --bootstrap-server HOST:PORT[,…]}"
    " [--export FILE] [--yes] …"
)
DESCRIPTION = """\
Takes away from a cluster all that is ours: no new move starts, moves in flight end, a stock broker becomes the
controller once you have stopped the servers, the queue goes, throttles of leases and settings of servers are taken
back, our znodes go. It shows what is left, asks before each step (--yes: does not), reads again before it writes, and
deletes nothing of others. Killed at any point, it goes on when it is run again. It works on ZooKeeper, from anywhere.

--export FILE keeps what a stock controller has no place for: the moves that wait (as a reassignment JSON file), the
original replicas of moves in flight, the settings, those of self-healing among them, and the history.

With --bootstrap-server it leaves a cluster in KRaft mode: it leads by the state log itself meanwhile, so that no server
starts a move; what waits never starts, moves in flight end, leases give former values back. The topic of the log stays
unless --delete-topic is given. It needs the rights of a server, and DELETE on the topic to delete it.
"""
EPILOG = """\
exit codes: 0 nothing of ours is left, 1 something is left (standard error says what to do), 2 wrong flags
example:    kafka-reassign-rpc leave --zookeeper-connect zk1:2181/kafka --export left.json
"""
_LONGEST_ANSWER = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    parser.add_argument("--export", metavar="FILE", help="keep what a stock controller has no place for in this file")
    parser.add_argument("--yes", action="store_true", help="take every step without asking")
    parser.add_argument(
        "--hand-over",
        action="store_true",
        help="do not wait for the end of moves in flight: a stock controller carries them on, without throttles of"
        " leases, and a cancel does not restore the order of their replicas",
    )
    parser.add_argument(
        "--wait-seconds",
        metavar="S",
        type=float,
        help="the longest wait for moves, servers and the next controller, each (default: no limit)",
    )
    add_command_config(
        parser,
        "a Java properties file with configs of the client: of --bootstrap-server, or with which --export asks the"
        " controller in ZooKeeper mode for its history",
    )
    parser.add_argument(
        "--delete-topic", action="store_true", help="in KRaft mode: the topic of the state log goes, too"
    )
    parser.add_argument(
        "--bootstrap-controller",
        metavar="HOST:PORT[,…]",
        help="in KRaft mode: controllers, which take back throttles of brokers that are dead",
    )
    parser.add_argument(
        "--state-log-lead-ms",
        metavar="MS",
        default=round(LEAD_S * 1000),
        help="in KRaft mode: as the servers have it (default: %(default)s)",
    )
    parser.add_argument(
        "--without-history", action="store_true", help="--export does without the history that the controller has"
    )
    add_timeout(parser)
    add_access(parser)


def run(arguments: argparse.Namespace) -> int:
    seconds = timeout_seconds(arguments)
    is_kraft = in_kraft_mode(arguments.zookeeper_connect, arguments.bootstrap_server)
    connect = "" if is_kraft else checked("--zookeeper-connect", zookeeper_connect, arguments.zookeeper_connect)
    if arguments.wait_seconds is not None and not arguments.wait_seconds >= 0:
        raise UsageError("--wait-seconds: expected 0 or more")
    if arguments.export and not Path(arguments.export).absolute().parent.is_dir():
        raise UsageError(f"--export: there is no folder {told_path(Path(arguments.export).parent)}")
    if is_kraft:
        return _of_kraft(arguments, seconds)
    if arguments.delete_topic:
        raise UsageError("--delete-topic: a cluster in ZooKeeper mode has no topic of ours")
    access = security_settings.access(security_properties(read_settings(arguments, SETTINGS)))
    history = None if arguments.without_history or not arguments.export else _history(arguments, seconds)
    work = _leave(connect, access, seconds, _choices(arguments, history))
    return _done(work, (ZkError, OSError), _advice, f"while {znode_paths.REASSIGN_CANCEL} exists no new move starts")


def _done(
    work: Coroutine[Any, Any, None],
    foreseen: tuple[type[Exception], ...],
    advice: Callable[[Exception], str],
    until_then: str,
) -> int:
    """Returns the exit code. `advice`: what to do before the next run; `until_then`: what holds once it is
    interrupted.
    """
    logging.disable(logging.CRITICAL)  # the steps say what the log would
    try:
        asyncio.run(work)
    except (Stopped, WrongFile) as error:
        _complain(str(error))
    except foreseen as error:
        _complain(f"{error}; {advice(error)}run this command again")
    except KeyboardInterrupt:
        _complain(f"interrupted; {until_then}; to go on, run this command again")
        raise
    else:
        return 0
    return 1


def _complain(text: str) -> None:
    say(f"kafka-reassign-rpc leave: {text}")


def _choices(arguments: argparse.Namespace, history: Callable[[Facts], Awaitable[Any]] | None = None) -> Choices:
    return Choices(
        say=_say,
        ask=_agree if arguments.yes else _ask,
        export=Path(arguments.export) if arguments.export else None,
        history=history,
        hand_over=arguments.hand_over,
        wait_s=arguments.wait_seconds,
    )


def _of_kraft(arguments: argparse.Namespace, seconds: float) -> int:
    from kafka_reassign_rpc.kraft import leave_cluster
    from kafka_reassign_rpc.kraft.ports import LookFailed
    from kafka_reassign_rpc.kraft.state_log.log_errors import LogError

    lead_ms = checked("--state-log-lead-ms", whole(1_000, 60_000), arguments.state_log_lead_ms)
    at = reached(arguments.bootstrap_server, arguments.command_config, "kafka-reassign-leave", round(seconds * 1000))
    cluster = leave_cluster.Cluster(*at, at.of_controllers(arguments.bootstrap_controller), lead_ms / 1000)
    work = leave_cluster.leave(cluster, _choices(arguments), delete_topic=arguments.delete_topic)
    until_then = "no new move starts before `kafka-reassign --enable`"
    return _done(work, (LogError, LookFailed, KafkaError, OSError), lambda _: "then ", until_then)


async def _leave(connect: str, access: Access, seconds: float, choices: Choices) -> None:
    zk = ZooKeeper(connect, access=access)
    await zk.start(seconds)
    try:
        if await zk.exists(znode_paths.BROKER_IDS) is None:
            raise Stopped(
                f"there is no Kafka cluster at {connect} ({znode_paths.BROKER_IDS} does not exist): give the "
                "zookeeper.connect of the brokers, with its chroot"
            )
        await leave(zk, choices)
    finally:
        await zk.close()


def _advice(error: Exception) -> str:
    cause = error.error if isinstance(error, TransactionFailed) else error
    is_refused = isinstance(cause, (NoAuth, AuthFailed, InvalidAcl))
    return (
        "give the brokers' login to ZooKeeper (--config, --kafka-config or flags, as serve takes them), and "
        if is_refused
        else ""
    )


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


async def _agree(question: str) -> bool:
    _say(question)
    return True


async def _ask(question: str) -> bool:
    """The session with ZooKeeper lives on while the operator thinks. An end of the input is a no."""
    print(f"{question} Do it? [y/N] ", end="", flush=True)  # noqa: T201
    return (await _answer()).strip().lower() in (b"y", b"yes")


async def _answer() -> bytes:
    """Reads standard input where Ctrl-C ends the wait: that of a thread cannot be ended."""
    answer = bytearray()
    if sys.stdin is None:
        return b""
    place = sys.stdin.fileno()

    def is_whole() -> bool:
        try:
            piece = os.read(place, 1)
        except OSError:  # the terminal is gone
            piece = b""
        answer.extend(piece)
        return piece in (b"", b"\n") or len(answer) >= _LONGEST_ANSWER

    loop = asyncio.get_running_loop()
    whole: asyncio.Future[None] = loop.create_future()

    def read() -> None:
        if is_whole():
            loop.remove_reader(place)
            whole.set_result(None)

    try:
        loop.add_reader(place, read)
    except PermissionError:  # a file: there is nothing to wait for
        while not is_whole():
            pass
        return bytes(answer)
    try:
        await whole
    finally:
        loop.remove_reader(place)
    return bytes(answer)


def _history(arguments: argparse.Namespace, seconds: float) -> Callable[[Facts], Awaitable[Any]]:
    """Asks the controller, a server of ours, at the endpoint of the client's security protocol."""
    try:
        properties = load_properties(arguments.command_config, _warn)
        client_configs("localhost:1", properties, _warn)
    except BadSetting as error:
        raise UsageError(f"--command-config: {error}") from None
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()

    async def read(facts: Facts) -> Any:
        owner = facts.state.controller.owner
        places = () if owner is None or owner.id is None else facts.servers.get(owner.id, ())
        fitting = [str(Address(one.host, one.port)) for one in places if one.security_protocol == protocol]
        limit_ms = int(seconds * 1000)
        limits = {"request_timeout_ms": limit_ms, "bootstrap_timeout_ms": limit_ms}
        advice = "give --command-config FILE with the security of its clients, or --without-history"
        if not fitting:
            raise Stopped(f"export: the controller has no listener of {protocol} that has the history: {advice}")
        try:
            configs = client_configs(fitting[0], properties, lambda _: None)
            async with AsyncReassignmentClient(**{**configs, **limits}) as client:
                return [
                    {**span._asdict(), "points": [msgspec.structs.asdict(point) for point in span.points]}
                    for span in await client.history()
                ]
        except (KafkaError, TimeoutError) as error:
            raise Stopped(f"export: {fitting[0]} does not send the history ({error}): {advice}") from error

    return read


def _warn(text: str) -> None:
    say(f"warning: {text}")
