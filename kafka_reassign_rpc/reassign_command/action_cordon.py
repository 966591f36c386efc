"""`kafka-reassign cordon`: keeps new replicas away from brokers, and opens them again (KIP-1066)."""

import argparse

from kafka_reassign_rpc.core.brokers import cordon
from kafka_reassign_rpc.core.config_values import listed
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure, known_brokers, unknown_brokers
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand, broker_ids


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--brokers", type=broker_ids, metavar="3,7", default=frozenset(), help="the ids of the brokers to cordon"
    )
    parser.add_argument("--uncordon", action="store_true", help="open the brokers of --brokers for new replicas again")


def _problem(found: argparse.Namespace) -> str | None:
    return "--uncordon needs --brokers" if found.uncordon and not found.brokers else None


def _run(context: ActionContext, asked: argparse.Namespace) -> None:
    client, output = context.client, context.output
    before = client.cordoned() if asked.uncordon else frozenset()
    found = client.cordon(asked.brokers, uncordon=asked.uncordon) if asked.brokers else client.cordoned()
    if asked.uncordon and not asked.brokers & before:
        raise TerseFailure(f"Nothing to open: there is {unknown_brokers(asked.brokers, found)} in the list.")
    output.collect(cordoned=sorted(found))
    output.line(f"Cordoned: {listed(found)}." if found else "The list of cordoned brokers is empty.")
    # A broker that is down may be cordoned. So may a misspelt id, and then the broker that was meant stays open.
    new = asked.brokers & found
    if new and (unknown := unknown_brokers(new, known_brokers(client))):
        raise TerseFailure(f"There is {unknown}. The cordon holds all the same.")


COMMAND = OurCommand(
    "cordon",
    "keep new replicas away from brokers",
    "The controller places no new replica on a cordoned broker: not for new topics or partitions, not for repairs. "
    "What the broker holds stays, and replicas that a client names itself are placed as it says. "
    "Without --brokers: show the list of them.",
    _run,
    _add_arguments,
    _problem,
    "Topics that stock brokers create by themselves (auto.create.topics.enable) are placed elsewhere, too. "
    "Plans of a snapshot that was exported meanwhile bring nothing there. A broker "
    f"among whose own configs somebody has set {cordon.LOG_DIRS} is cordoned, and not in this list: "
    "`kafka-reassign-rpc check` shows it.",
)
