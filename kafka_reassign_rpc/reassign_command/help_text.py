"""The text of `--help`: examples, then the options in groups, in the two columns of the stock tool."""

import textwrap
from collections.abc import Iterable

from kafka_reassign_rpc.reassign_command.options import BY_NAME, PROGRAM, Option
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand

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
