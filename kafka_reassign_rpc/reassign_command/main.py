"""`kafka-reassign`: its command line with all commands and --help; runs one action, and turns errors into text and an
exit code.

Exit codes: 0 for success; 1 for any failure, and after the help, as in the stock tool; 2 if --verify-queue finds moves
that wait or are in flight; 130 after Ctrl-C.

`options` reads the options of the stock tool. The text of `--help` has examples, then the options in groups, in the two
columns of the stock tool.
"""

import argparse
import logging
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence

from kafka_reassign_rpc.client import KafkaError
from kafka_reassign_rpc.reassign_command import (
    action_cancel,
    action_cordon,
    action_describe,
    action_describe_topic,
    action_events,
    action_execute,
    action_generate,
    action_heal,
    action_list,
    action_move,
    action_queue,
    action_settings,
    action_status,
    action_throttle,
    action_verify,
    action_watch,
)
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, Output
from kafka_reassign_rpc.reassign_command.command_errors import (
    CommandFailed,
    TerseFailure,
    UnreadableCommandLine,
    from_server,
)
from kafka_reassign_rpc.reassign_command.options import (
    BY_NAME,
    OPTIONS,
    PROGRAM,
    Option,
    ParsedOptions,
    chosen_action,
    parse,
)
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand, Parser, parsed_options
from kafka_reassign_rpc.support.connection_flags import (
    add_bootstrap_server,
    add_command_config,
    bootstrap_server,
    command_config,
    misspelt,
)
from kafka_reassign_rpc.support.product_version import product_version
from kafka_reassign_rpc.support.quiet_arguments import SHELLS, add_completion, script
from kafka_reassign_rpc.support.secrecy import told
from kafka_reassign_rpc.support.standard_output import written_out

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
        action_queue.HOLD,
        action_queue.RELEASE,
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


ACTIONS: dict[str, Callable[[ActionContext], int | None]] = {
    "generate": action_generate.run,
    "execute": action_execute.run,
    "verify": action_verify.run,
    "cancel": action_cancel.run,
    "list": action_list.run,
    "generate-queue": action_queue.generate,
    "execute-queue": action_queue.execute,
    "verify-queue": action_queue.verify,
    "disable": action_settings.disable,
    "enable": action_settings.enable,
}
"""The function of each action that is an option. It may return an exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    return written_out("kafka-reassign", lambda: _run(arguments))


def _run(arguments: Sequence[str]) -> int:
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="[%(asctime)s] %(levelname)s %(message)s")
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    if (wrong := misspelt(os.environ)) is not None:
        sys.stderr.write(f"kafka-reassign: {wrong}\n")
        return 1
    try:
        if (asked := parse_command(arguments)) is not None:
            command, found = asked
            return _run_action(lambda context: command.carry_out(context, found), parsed_options(found))
        options = parse(arguments, COMMANDS)
        if not arguments or options.has("help"):
            sys.stderr.write(f"{HEADLINE}\n{help_text(COMMANDS.values())}\n")
            return 1
        if options.has("version"):
            return _print(f"{product_version()}\n")
        if options.has("completion"):
            return _print(_completion(options.value("completion") or ""))
        options = options.with_connection(bootstrap_server(), command_config())
        action = chosen_action(options)
    except UnreadableCommandLine as error:
        # Scripts read what is wrong in the first line, where the stock tool says it, and people in the last one.
        last = f"{PROGRAM}: {error}{error.hint}"
        lines = [error.usage, error] if error.usage else [error, USAGE, last]
        sys.stderr.writelines(f"{line}\n" for line in lines)
        return 1
    except CommandFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return _run_action(ACTIONS[action], options)


def _completion(shell: str) -> str:
    if shell not in SHELLS:
        raise CommandFailed(f"--completion: expected one of {', '.join(SHELLS)}, got {told(shell)}")
    return script(parser(), shell)


def _print(text: str) -> int:
    Output(sys.stdout, as_json=False).write(text)
    return 0


def _run_action(action: Callable[[ActionContext], int | None], options: ParsedOptions) -> int:
    output = Output(sys.stdout, as_json=options.has("json"), connection=options.connection)
    problem = ""
    code: int | None = 0
    try:
        with ActionContext(options, output) as context:
            code = action(context)
    except TerseFailure as error:
        problem = str(error)
    except CommandFailed as error:
        problem = f"Error: {error}"
    except KafkaError as error:
        problem = f"Error: {from_server(error)}"
    except KeyboardInterrupt:
        return 130
    if problem:
        output.line(problem)
        output.collect(error=problem.removeprefix("Error: "))
    output.finish()
    return 1 if problem else code or 0


if __name__ == "__main__":
    raise SystemExit(main())
