"""What the commands of `kafka-reassign` that are words have in common: move, throttle, heal and more."""

import argparse
from collections.abc import Collection, Sequence

from kafka_reassign_rpc.core.config_values import BROKER_IDS, parse_brokers
from kafka_reassign_rpc.reassign_command.command_errors import UnreadableCommandLine
from kafka_reassign_rpc.reassign_command.options import BY_NAME, Option, ParsedOptions
from kafka_reassign_rpc.support.connection_flags import add_bootstrap_server, add_command_config
from kafka_reassign_rpc.support.quiet_arguments import QuietParser
from kafka_reassign_rpc.support.secrecy import told


class _ArgumentError(Exception):
    pass


class Parser(QuietParser):
    """Has the options of every action that connects."""

    def __init__(self, command: str, description: str, epilog: str) -> None:
        super().__init__(prog=f"kafka-reassign {command}", description=description, epilog=epilog)
        add_bootstrap_server(self, required=True)
        add_command_config(self)
        self.add_argument("--json", action="store_true", help="print JSON instead of text")

    def refuse(self, message: str) -> None:
        raise _ArgumentError(message)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Raises UnreadableCommandLine."""
        try:
            return self.parse_args(arguments)
        except _ArgumentError as error:
            raise self.misused(str(error)) from None

    def misused(self, message: str) -> UnreadableCommandLine:
        """The error to raise."""
        return UnreadableCommandLine(f"{self.prog}: {message}", self.short_usage())

    def options(self) -> list[Option]:
        return [
            Option(action.option_strings[-1].removeprefix("--"), action.help or "", _value(action), ours=True)
            for action in self._actions
            if action.option_strings
        ]


def _value(action: argparse.Action) -> str | None:
    if action.nargs == 0:
        return None
    return "property file" if action.metavar == "FILE" else str(action.metavar or action.dest).lower().replace("_", " ")


def broker_ids(text: str) -> frozenset[int]:
    """Needs at least one: `3,7`."""
    found = parse_brokers(text)
    if not found:
        raise argparse.ArgumentTypeError(f"expected {BROKER_IDS}, got {told(text)}")
    return found


def connection_options(found: argparse.Namespace) -> ParsedOptions:
    values = {"bootstrap-server": [found.bootstrap_server]}
    if found.command_config is not None:
        values["command-config"] = [found.command_config]
    if found.json:
        values["json"] = []
    return ParsedOptions(values)


def command_of(words: Collection[str], command_line: Sequence[str]) -> tuple[str, list[str]] | None:
    """The first of these commands and its arguments, which may stand anywhere around it; None: another action is asked
    for.

    The stock tool passes over words that are neither an option nor its value, so the command would be lost there.
    """
    for place, word in enumerate(command_line):
        if word == "--":
            return None
        before = BY_NAME.get(command_line[place - 1].removeprefix("--")) if place else None
        if word in words and (before is None or before.value is None):
            return word, [*command_line[:place], *command_line[place + 1 :]]
    return None
