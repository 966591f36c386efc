"""The text of `--help`, in the two columns of the stock tool."""

import textwrap

from kafka_reassign_rpc.reassign_command.options import OPTIONS, Option

HEADLINE = "This tool helps to move topic partitions between replicas."
COMMANDS = (
    "To see and change settings of the servers: kafka-reassign settings --help\n"
    "To see and repair lost brokers: kafka-reassign heal --help"
)
_WIDTH = 38
_INDENT = "  "


def help_text() -> str:
    lines = _row("Option", "Description") + _row("------", "-----------")
    for option in sorted(OPTIONS, key=lambda option: option.name):
        lines += _row(_left(option), _right(option))
    return "\n".join(lines) + f"\n\n{COMMANDS}\n"


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
