"""`kafka-reassign settings`: shows and changes the settings that all servers of a cluster share.

--disable and --enable set one of them, which switches reassignments off and on (KIP-236).
"""

import argparse
from collections.abc import Sequence

from kafka_reassign_rpc.client import ServerSetting
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.settings.healing_settings import THROTTLE
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.core.settings.server_settings import consequence
from kafka_reassign_rpc.core.settings.settings_in_force import IN_DEFAULTS
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, say
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure, our_server_needed
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand
from kafka_reassign_rpc.support.human_units import parse_duration_ms, parse_size, without_unit
from kafka_reassign_rpc.support.secrecy import told, told_name
from kafka_reassign_rpc.support.text_table import table

_PLACES = {
    "servers": "set for all servers",
    "defaults": f"set among {IN_DEFAULTS}",
    "started": "what the server was started with",
    "default": "the default",
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set", action="append", metavar="NAME=VALUE", default=[], help="set a setting; can be repeated"
    )
    parser.add_argument(
        "--delete",
        action="append",
        metavar="NAME",
        default=[],
        help="delete a setting, so that what the server was started with holds; can be repeated",
    )
    parser.add_argument(
        "--move",
        action="store_true",
        help="move the settings that are among the brokers' default configs, where servers of earlier versions kept "
        "them, to where they belong; none changes its value",
    )


def _changes(found: argparse.Namespace) -> dict[str, str | None]:
    """Raises ValueError."""
    changes: dict[str, str | None] = dict.fromkeys(found.delete)
    for text in found.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--set: expected NAME=VALUE, got {told(text)}")
        if name in changes:
            raise ValueError(f"{told_name(name)} is named twice")
        if name == THROTTLE and (problem := without_unit(value)):
            raise ValueError(f"{name}: {problem}")
        changes[name] = _plain(name, value)
    if found.move and changes:
        raise ValueError("--move goes alone")
    return changes


def _problem(found: argparse.Namespace) -> str | None:
    try:
        _changes(found)
    except ValueError as error:
        return str(error)
    return None


def _run(context: ActionContext, found: argparse.Namespace) -> None:
    if found.move:
        _move(context)
    elif changes := _changes(found):
        _change(context, changes)
    else:
        _show(context)


def _plain(name: str, value: str) -> str:
    """Takes away the unit that a duration or a size may have."""
    number = parse_duration_ms(value) if name.endswith(".ms") else None
    if name.endswith(".bytes.in.flight"):
        number = parse_size(value)
    return value if number is None else str(number)


def _document(one: ServerSetting) -> dict[str, object]:
    return {"name": one.name, "value": one.value, "where": one.where, "inBrokerDefaults": one.old}


def _show(context: ActionContext) -> None:
    found = context.client.settings()
    context.output.collect(settings=[_document(one) for one in found])
    context.output.lines(table([(f"{one.name}={one.value}", _PLACES[one.where]) for one in found]))
    _warn(context, found)


def _change(context: ActionContext, changes: dict[str, str | None]) -> None:
    context.client.change_settings(changes)
    try:
        found = [one for one in context.client.settings() if one.name in changes]
    except KafkaError as error:
        raise TerseFailure(f"The settings are changed. What holds now could not be read: {error.message}") from None
    context.output.collect(settings=[_document(one) for one in found])
    for one in found:
        context.output.line(f"{one.name}={one.value} holds: {_PLACES[one.where]}.")
    _warn(context, found)


def _warn(context: ActionContext, found: Sequence[ServerSetting]) -> None:
    for one in found:
        if (odd := consequence(one.name, one.value)) is not None:
            say(f"Warning: {odd}.")
        if one.old is None:
            continue
        effect = "holds" if one.where == "defaults" else "has no effect"
        context.output.line(
            f"{one.name}={one.old} is among {IN_DEFAULTS} and {effect}. --move takes it from there: stock tools"
            " cannot change those configs while it is there."
        )


def _move(context: ActionContext) -> None:
    found = context.client.move_settings()
    context.output.collect(moved=dict(found.moved), dropped=dict(found.dropped))
    if not found.moved and not found.dropped:
        context.output.line(f"No setting of servers is among {IN_DEFAULTS}.")
    for name, value in sorted(found.moved.items()):
        context.output.line(f"{name}={value} holds as before: set for all servers now.")
    for name, value in sorted(found.dropped.items()):
        context.output.line(f"{name}={value} had no effect among {IN_DEFAULTS}, and is gone from there.")


def disable(context: ActionContext) -> None:
    with our_server_needed():
        reason = context.client.disable()
    if reason is None:
        raise TerseFailure(f"{ENABLED}=false was set for the cluster, but somebody has taken it away already.")
    context.output.line(reason)
    context.output.collect(enabled=False, reason=reason)


def enable(context: ActionContext) -> None:
    """Raises TerseFailure if reassignments are still disabled for another reason."""
    with our_server_needed():
        reason = context.client.enable()
    context.output.collect(enabled=reason is None, reason=reason)
    if reason is not None:
        raise TerseFailure(f"{ENABLED}=false is not set for the cluster any more. But: {reason}")
    context.output.line("Reassignments may be started.")


COMMAND = OurCommand(
    "settings",
    "show and change settings of the servers",
    "The settings that all servers of a cluster share and that hold without a restart. Without --set, --delete and "
    "--move: show them.",
    _run,
    _add_arguments,
    _problem,
    "The stock tool changes them too: kafka-configs.sh --entity-type brokers --entity-name ID, with the id of a "
    "server.",
)
