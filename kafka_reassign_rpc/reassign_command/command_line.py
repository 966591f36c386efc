"""The parser of `kafka-reassign`: all commands, and the options of the stock tool, which `options` reads.

The text of `--help` has examples, then the options in groups, in the two columns of the stock tool.
"""

import argparse
import textwrap
from collections.abc import Iterable, Sequence

from kafka_reassign_rpc.reassign_command import (
    action_cordon,
    action_describe,
    action_describe_topic,
    action_events,
    action_heal,
    action_hold,
    action_move,
    action_settings,
    action_status,
    action_throttle,
    action_watch,
)
from kafka_reassign_rpc.reassign_command.options import BY_NAME, OPTIONS, PROGRAM, Option
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand, Parser
from kafka_reassign_rpc.support.connection_flags import add_bootstrap_server, add_command_config
from kafka_reassign_rpc.support.shell_completion import add_completion

COMMANDS: dict[str, OurCommand] = {
    one.name: one
    for one in (
        action_status.COMMAND,
        action_describe.COMMAND,
        action_describe_topic.COMMAND,
        action_watch.COMMAND,
        action_events.COMMAND,
        action_move.COMMAND,
        action_throttle.COMMAND,
        action_hold.HOLD,
        action_hold.RELEASE,
        action_cordon.COMMAND,
        action_heal.COMMAND,
        action_settings.COMMAND,
    )
}


def parser() -> Parser:
    root = Parser(prog=PROGRAM, add_help=False, allow_abbrev=False)
    for option in OPTIONS:
        about = option.help.replace("%", "%%")
        if option.name == "completion":
            add_completion(root, about)
        elif option.value is None:
            root.add_argument(f"--{option.name}", action="store_true", help=about)
        else:
            nargs = "?" if option.optional_value else None
            root.add_argument(f"--{option.name}", nargs=nargs, metavar=option.value, help=about)
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    for name, one in COMMANDS.items():
        below = commands.add_parser(
            name,
            help=one.help,
            description=one.about,
            epilog=one.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter if "\n" in one.epilog else argparse.HelpFormatter,
        )
        add_bootstrap_server(below, required=True)
        add_command_config(below)
        below.add_argument("--json", action="store_true", help="print JSON instead of text")
        one.add_arguments(below)
    return root


def parse_command(command_line: Sequence[str]) -> tuple[OurCommand, argparse.Namespace] | None:
    """The command that is asked for, which may be anywhere among its arguments; None: there is none. Raises
    UnreadableCommandLine.

    The stock tool passes over words that are neither an option nor its value, so the command would be lost there.
    """
    if not COMMANDS.keys() & {*command_line}:
        return None
    root = parser()
    place = _place(root, command_line)
    if place is None:
        return None
    command = COMMANDS[command_line[place]]
    found = root.parse_args([command.name, *command_line[:place], *command_line[place + 1 :]])
    if (problem := command.problem(found)) is not None:
        root.parser_of(found).error(problem)
    return command, found


def _place(root: Parser, command_line: Sequence[str]) -> int | None:
    """The place of the first word that is a command, and not the value of the option before it."""
    takes_value = {
        name
        for one in (root, *root.commands().values())
        for action in one._actions
        if action.nargs is None
        for name in action.option_strings
    }
    for place, word in enumerate(command_line):
        if word == "--":
            return None
        if word in COMMANDS and (place == 0 or command_line[place - 1] not in takes_value):
            return place
    return None


HEADLINE = "This tool helps to move topic partitions between replicas."
USAGE = """\
usage: kafka-reassign --bootstrap-server HOST:PORT --ACTION [OPTION …]
       kafka-reassign COMMAND --bootstrap-server HOST:PORT [OPTION …]
       kafka-reassign --help shows all of them"""
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Move partitions",
        (
            *(
                "execute",
                "reassignment-json-file",
                "dry-run",
                "throttle",
                "lease",
                "lift-stricter",
                "reason",
                "additional",
                "watch",
            ),
            *("expect-current", "disallow-replication-factor-change", "verify", "preserve-throttles", "cancel", "list"),
            *("replica-alter-log-dirs-throttle", "timeout"),
        ),
    ),
    ("Let moves wait for their turn", ("execute-queue", "verify-queue", "generate-queue")),
    ("Make a file", ("generate", "topics-to-move-json-file", "broker-list", "disable-rack-aware")),
    ("Stop new moves", ("disable", "enable")),
    ("Connect, print", ("bootstrap-server", "bootstrap-controller", "command-config", "json")),
    ("This command", ("help", "version", "completion")),
)
EXAMPLES = """\
Examples (with --bootstrap-server localhost:9092):
  kafka-reassign status
  kafka-reassign describe-topic payments
  kafka-reassign move payments -p 0:4,5,6 -p 1:1,2,3 --throttle 50MB --lease
  kafka-reassign --reassignment-json-file move.json --execute --watch
  kafka-reassign --cancel"""
_WIDTH = 38
_INDENT = "  "


def help_text(commands: Iterable[OurCommand]) -> str:
    title = f"Commands ({PROGRAM} COMMAND --help)"
    lines = [EXAMPLES, "", title, "-" * len(title)]
    for command in commands:
        lines += _row(command.name, command.help)
    for title, names in GROUPS:
        lines += ["", title, "-" * len(title)]
        for name in names:
            lines += _row(_left(BY_NAME[name]), _right(BY_NAME[name]))
    return "\n".join(lines) + "\n"


def _left(option: Option) -> str:
    if option.value is None:
        return f"--{option.name}"
    opening, closing = ("[", "]") if option.optional_value else ("<", ">")
    return f"--{option.name} {opening}{option.type}: {option.value}{closing}"


def _right(option: Option) -> str:
    return option.help if option.default is None else f"{option.help} (default: {option.default})"


def _row(left: str, right: str) -> list[str]:
    lefts = _wrapped(left)
    rights = [line for part in right.split("\n") for line in _wrapped(part)]
    height = max(len(lefts), len(rights))
    lefts += [""] * (height - len(lefts))
    rights += [""] * (height - len(rights))
    return [f"{a:<{_WIDTH}}  {b}".rstrip() for a, b in zip(lefts, rights, strict=True)]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, subsequent_indent=_INDENT, replace_whitespace=False, expand_tabs=False, drop_whitespace=True
    ) or [""]
