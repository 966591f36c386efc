"""What the commands of `kafka-reassign` have in common that are words and no options: heal, settings."""

import argparse
from collections.abc import Sequence

from kafka_reassign_rpc.reassign_command.command_errors import UnreadableCommandLine
from kafka_reassign_rpc.reassign_command.options import BY_NAME, Option, ParsedOptions


class _ArgumentError(Exception):
    pass


class Parser(argparse.ArgumentParser):
    """The parser of `kafka-reassign COMMAND`, with the options of every action that connects."""

    def __init__(self, command: str, description: str, epilog: str) -> None:
        super().__init__(prog=f"kafka-reassign {command}", description=description, epilog=epilog)
        self.add_argument(
            "--bootstrap-server",
            required=True,
            help="HOST:PORT of one or more nodes of the cluster, separated by commas",
        )
        self.add_argument("--command-config", metavar="FILE", help="a Java properties file with configs of the client")
        self.add_argument("--json", action="store_true", help="print JSON instead of text")

    def error(self, message: str) -> None:  # type: ignore[override]
        raise _ArgumentError(message)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Raises UnreadableCommandLine."""
        try:
            return self.parse_args(arguments)
        except _ArgumentError as error:
            raise UnreadableCommandLine(f"{self.prog}: {error}\n{self.format_usage().rstrip()}") from None

    def options(self) -> list[Option]:
        """The options, for completion."""
        return [
            Option(action.option_strings[-1].removeprefix("--"), action.help or "", _value(action), ours=True)
            for action in self._actions
        ]


def _value(action: argparse.Action) -> str | None:
    if action.nargs == 0:
        return None
    return "property file" if action.metavar == "FILE" else str(action.metavar or action.dest).lower().replace("_", " ")


def connection_options(found: argparse.Namespace) -> ParsedOptions:
    """The options of `Parser`, in the form of the other actions."""
    values = {"bootstrap-server": [found.bootstrap_server]}
    if found.command_config is not None:
        values["command-config"] = [found.command_config]
    if found.json:
        values["json"] = []
    return ParsedOptions(values)


def arguments_of(command: str, command_line: Sequence[str]) -> list[str] | None:
    """The arguments of `command`, which may stand anywhere among them; None: another action is asked for.

    The stock tool passes over words that are neither an option nor its value, so the command would be lost there.
    """
    for place, word in enumerate(command_line):
        if word == "--":
            return None
        before = BY_NAME.get(command_line[place - 1].removeprefix("--")) if place else None
        if word == command and (before is None or before.value is None):
            return [*command_line[:place], *command_line[place + 1 :]]
    return None
