"""The help, in the two columns of the stock tool, and the rules of which options go together."""

import textwrap

from kafka_reassign_rpc.reassign_command.command_errors import OptionsError
from kafka_reassign_rpc.reassign_command.options import BY_NAME, OPTIONS, Option, ParsedOptions, names

HEADLINE = "This tool helps to move topic partitions between replicas."
HEALING = "Brokers that are lost, and their repair: kafka-reassign heal --help"
_WIDTH = 38
_INDENT = "  "

_CONNECTION = ("bootstrap-server", "command-config", "json")
_REQUIRED: dict[str, tuple[str, ...]] = {
    "verify": ("reassignment-json-file",),
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": ("reassignment-json-file",),
    "generate-queue": ("topics-to-move-json-file", "broker-list"),
    "execute-queue": ("reassignment-json-file",),
    "verify-queue": ("reassignment-json-file",),
}
_PERMITTED: dict[str, tuple[str, ...]] = {
    "verify": ("preserve-throttles",),
    "generate": ("disable-rack-aware",),
    "execute": (
        "additional",
        "throttle",
        "lease",
        "reason",
        "replica-alter-log-dirs-throttle",
        "timeout",
        "disallow-replication-factor-change",
        "expect-current",
        "watch",
    ),
    "cancel": ("reassignment-json-file", "preserve-throttles", "timeout"),
    "generate-queue": ("disable-rack-aware",),
    "execute-queue": ("throttle", "lease", "reason", "disallow-replication-factor-change", "expect-current", "watch"),
    "verify-queue": ("preserve-throttles",),
    "disable": (),
    "enable": (),
    "list": (),
    "describe": (),
    "watch": ("reassignment-json-file",),
    "events": ("follow",),
}
ACTIONS = (
    "generate",
    "execute",
    "verify",
    "cancel",
    "list",
    "generate-queue",
    "execute-queue",
    "verify-queue",
    "disable",
    "enable",
    "describe",
    "watch",
    "events",
)
_WATCHED = ("execute", "execute-queue")


def action(given: ParsedOptions) -> str:
    """The action that was asked for. Raises UsageError, in the stock tool's order and words."""
    asked = [name for name in ACTIONS if given.has(name)]
    if len(asked) == 2 and asked[0] in _WATCHED and asked[1] == "watch":
        asked.pop()
    if len(asked) != 1:
        raise OptionsError(f"Command must include exactly one action: {names(BY_NAME[name] for name in ACTIONS)}")
    connections = [name for name in ("bootstrap-server", "bootstrap-controller") if given.has(name)]
    if len(connections) > 1:
        raise OptionsError("Please don't specify both --bootstrap-server and --bootstrap-controller")
    if not connections:
        raise OptionsError("Please specify either --bootstrap-server or --bootstrap-controller")
    [found] = asked
    for name in _REQUIRED.get(found, ()):
        if not given.has(name):
            raise OptionsError(f'Missing required argument "[{name}]"')
    of_controllers = ("bootstrap-controller",) if found in ("cancel", "list") else ()
    allowed = {found, *_REQUIRED.get(found, ()), *_PERMITTED[found], *_CONNECTION, *of_controllers}
    for name in given.values:
        if name not in allowed:
            raise OptionsError(f'Option "[{name}]" can\'t be used with action "[{found}]"')
    return found


def help_text() -> str:
    lines = _row("Option", "Description") + _row("------", "-----------")
    for option in sorted(OPTIONS, key=lambda option: option.name):
        lines += _row(_left(option), _right(option))
    return "\n".join(lines) + f"\n\n{HEALING}\n"


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
