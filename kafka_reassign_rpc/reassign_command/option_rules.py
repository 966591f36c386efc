"""The rules of which options go together: which action is asked for, what it requires and what it permits."""

from kafka_reassign_rpc.reassign_command.command_errors import UnreadableCommandLine
from kafka_reassign_rpc.reassign_command.options import BY_NAME, ParsedOptions, names

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
        "lift-stricter",
        "reason",
        "replica-alter-log-dirs-throttle",
        "timeout",
        "disallow-replication-factor-change",
        "expect-current",
        "watch",
        "dry-run",
    ),
    "cancel": ("reassignment-json-file", "preserve-throttles", "timeout"),
    "generate-queue": ("disable-rack-aware",),
    "execute-queue": (
        "throttle",
        "lease",
        "lift-stricter",
        "reason",
        "disallow-replication-factor-change",
        "expect-current",
        "watch",
        "dry-run",
    ),
    "verify-queue": ("preserve-throttles",),
    "disable": (),
    "enable": (),
    "list": (),
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
)


def chosen_action(options: ParsedOptions) -> str:
    """Raises UnreadableCommandLine, in the stock tool's order and words."""
    asked = [name for name in ACTIONS if options.has(name)]
    if len(asked) != 1:
        raise UnreadableCommandLine(
            f"Command must include exactly one action: {names(BY_NAME[name] for name in ACTIONS)}"
        )
    connections = [name for name in ("bootstrap-server", "bootstrap-controller") if options.has(name)]
    if len(connections) > 1:
        raise UnreadableCommandLine("Please don't specify both --bootstrap-server and --bootstrap-controller")
    if not connections:
        raise UnreadableCommandLine("Please specify either --bootstrap-server or --bootstrap-controller")
    [action] = asked
    for name in _REQUIRED.get(action, ()):
        if not options.has(name):
            raise UnreadableCommandLine(f'Missing required argument "[{name}]"')
    for_controllers = ("bootstrap-controller",) if action in ("cancel", "list") else ()
    allowed = {action, *_REQUIRED.get(action, ()), *_PERMITTED[action], *_CONNECTION, *for_controllers}
    for name in options.values:
        if name not in allowed:
            raise UnreadableCommandLine(f'Option "[{name}]" can\'t be used with action "[{action}]"')
    return action
