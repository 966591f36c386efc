"""The options with their help texts, the parser of the command line, and which options go together.

The parser follows jopt-simple, as the stock tool uses it: there are no abbreviations, `--name value` and `--name=value`
mean the same, words that are no option are ignored, and an option that takes a value needs one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed, UnreadableCommandLine
from kafka_reassign_rpc.support.connection_flags import BOOTSTRAP_SERVER, COMMAND_CONFIG
from kafka_reassign_rpc.support.human_units import parse_duration_ms, parse_size
from kafka_reassign_rpc.support.quiet_arguments import near_option
from kafka_reassign_rpc.support.secrecy import told, told_option
from kafka_reassign_rpc.support.typed_commands import ANY, Connection

_THROTTLE_HELP = (
    "will be throttled to this value (bytes/sec). This option can be included with --execute when a reassignment is "
    "started, and it can be altered by resubmitting the current reassignment along with the --additional flag. The "
    "throttle rate should be at least 1 KB/s. It may have a unit: 50MB, 500KiB."
)


@dataclass(frozen=True)
class Option:
    """`value` describes the option's value; None: it takes none. `ours`: the stock tool has no such option."""

    name: str
    help: str
    value: str | None = None
    type: str = "String"
    default: str | None = None
    optional_value: bool = False
    ours: bool = False


OPTIONS: tuple[Option, ...] = (
    Option(
        "verify",
        "Verify if the reassignment completed as specified by the --reassignment-json-file option. If there is a "
        "throttle engaged for the replicas specified, and the rebalance has completed, the throttle will be removed",
    ),
    Option(
        "generate",
        "Generate a candidate partition reassignment configuration. Note that this only generates a candidate "
        "assignment, it does not execute it.",
    ),
    Option("execute", "Kick off the reassignment as specified by the --reassignment-json-file option."),
    Option(
        "cancel",
        "Cancel an active reassignment. Without --reassignment-json-file: cancel all, in flight and in the queue.",
    ),
    Option(
        "generate-queue",
        "Generate a candidate for --execute-queue, as --generate does. A partition that moves or waits counts with the "
        "replicas of its target. Needs a kafka-reassign-rpc server as the controller.",
        ours=True,
    ),
    Option(
        "execute-queue",
        "Put the reassignment of --reassignment-json-file into the controller's queue, also while other moves are in "
        "flight. Each move starts when it is its turn, and replaces a move of the same partition that is in flight "
        "then. Needs a kafka-reassign-rpc server as the controller.",
        ours=True,
    ),
    Option(
        "verify-queue",
        "Show which partitions of --reassignment-json-file wait in the queue, move, are completed, or have other "
        "replicas than planned. Remove throttles as --verify does. Exit code: 0 if all are completed, 2 if some wait "
        "or move, 1 if some are not as planned. Needs a kafka-reassign-rpc server as the controller.",
        ours=True,
    ),
    Option(
        "disable",
        "Disable reassignments: no new one starts. Moves in flight go on, and can be cancelled. Needs a "
        "kafka-reassign-rpc server as the controller.",
        ours=True,
    ),
    Option(
        "enable",
        "Enable reassignments again, after --disable. If they are still disabled for another reason, print the reason "
        "and end with exit code 1. Needs a kafka-reassign-rpc server as the controller.",
        ours=True,
    ),
    Option("list", "List all active partition reassignments."),
    Option(
        "dry-run",
        "With --execute or --execute-queue: show what would change and the warnings, and change nothing.",
        ours=True,
    ),
    Option(
        "watch",
        "With --execute or --execute-queue: show the progress of the moves until they are done: bytes, rate and "
        "remaining time.",
        ours=True,
    ),
    Option(
        "completion",
        "Print a script with which the shell completes the commands and options.",
        "bash|zsh|fish|tcsh",
        ours=True,
    ),
    Option(
        "bootstrap-server",
        f"the server(s) to use for bootstrapping. Default: the environment variable {BOOTSTRAP_SERVER}.",
        "Server(s) to use for bootstrapping",
    ),
    Option(
        "bootstrap-controller",
        "The controller to use for reassignment. By default, the tool will get the quorum controller. This option "
        "supports the actions --cancel and --list.",
        "bootstrap controller to connect to",
    ),
    Option(
        "command-config",
        "Property file containing configs to be passed to Admin Client. Default: the environment variable "
        f"{COMMAND_CONFIG}.",
        "Admin client property file",
    ),
    Option(
        "reassignment-json-file",
        "The JSON file with the partition reassignment configurationThe format to use is - \n"
        '{"partitions":\n\t[{"topic": "foo",\n\t  "partition": 1,\n\t  "replicas": [1,2,3],\n'
        '\t  "log_dirs": ["dir1","dir2","dir3"] }],\n"version":1\n}\n'
        'Note that "log_dirs" is optional. When it is specified, its length must equal the length of the replicas '
        'list. The value in this list can be either "any" or the absolution path of the log directory on the broker. '
        "If absolute log directory path is specified, the replica will be moved to the specified log directory on "
        "the broker.",
        "manual assignment json file path",
    ),
    Option(
        "topics-to-move-json-file",
        "Generate a reassignment configuration to move the partitions of the specified topics to the list of brokers "
        "specified by the --broker-list option. The format to use is - \n"
        '{"topics":\n\t[{"topic": "foo"},{"topic": "foo1"}],\n"version":1\n}',
        "topics to reassign json file path",
    ),
    Option(
        "broker-list",
        'The list of brokers to which the partitions need to be reassigned in the form "0,1,2". This is required if '
        "--topics-to-move-json-file is used to generate reassignment configuration",
        "brokerlist",
    ),
    Option("disable-rack-aware", "Disable rack aware replica assignment"),
    Option(
        "throttle", f"The movement of partitions between brokers {_THROTTLE_HELP}", "throttle", "Long", default="-1"
    ),
    Option(
        "lease",
        "With --throttle: the controller sets the throttle for exactly the replicas that move, and restores the former "
        "configs as soon as the moves end or are cancelled. No --verify is needed, and other throttles stay. Without "
        "--lease a throttle stays until --verify, as in the stock tool. --throttle 0 --lease removes such a throttle "
        "from the moves. Needs a kafka-reassign-rpc server as the controller.",
        ours=True,
    ),
    Option(
        "lift-stricter",
        "With --throttle and --lease: where a broker, or all brokers, have a stricter rate, the throttle takes its "
        "place, and that rate comes back when the moves end. It stays where other moves have a lease without this "
        "option. Needs a kafka-reassign-rpc server as the controller.",
        ours=True,
    ),
    Option(
        "reason",
        "What the reassignment is for. The controller keeps the text with each move; --list, describe and events "
        "show it. Needs a kafka-reassign-rpc server as the controller.",
        "text of up to 1000 characters",
        ours=True,
    ),
    Option(
        "replica-alter-log-dirs-throttle",
        f"The movement of replicas between log directories on the same broker {_THROTTLE_HELP}",
        "replicaAlterLogDirsThrottle",
        "Long",
        default="-1",
    ),
    Option(
        "timeout",
        "The maximum time in ms to wait for log directory replica assignment to begin. It may have a unit: 20s.",
        "timeout",
        "Long",
        default="10000",
    ),
    Option(
        "additional",
        "Execute this reassignment in addition to any other ongoing ones. This option can also be used to change the "
        "throttle of an ongoing reassignment.",
    ),
    Option("preserve-throttles", "Do not modify broker or topic throttles."),
    Option(
        "disallow-replication-factor-change",
        "Denies the ability to change a partition's replication factor as part of this reassignment through adding "
        "validation against it.",
    ),
    Option(
        "expect-current",
        "Refuse each partition that does not have the expected replicas, in order. They are those of the given file "
        "(such as the rollback file that --execute prints); without a file, the "
        '"expected_replicas" of each entry of --reassignment-json-file. Needs a kafka-reassign-rpc server as the '
        "controller.",
        "json file path with the current assignment",
        optional_value=True,
        ours=True,
    ),
    Option("json", "Print JSON instead of text.", ours=True),
    Option("help", "Print usage information."),
    Option("version", "Display the version of this command."),
)

PROGRAM = "kafka-reassign"
_WITH_UNIT = {
    "throttle": parse_size,
    "replica-alter-log-dirs-throttle": parse_size,
    "timeout": parse_duration_ms,
}
"""Options that take 50MB (per second) or 20s too. The stock tool refuses these."""
BY_NAME = {option.name: option for option in OPTIONS}


@dataclass
class ParsedOptions:
    values: dict[str, list[str]] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        return name in self.values

    def value(self, name: str) -> str | None:
        """Falls back to the default. Raises CommandFailed if the option is given twice."""
        found = self.values.get(name)
        if not found:
            return BY_NAME[name].default if name in BY_NAME else None
        if len(found) > 1:
            raise CommandFailed(f"Found multiple arguments for option {name}, but you asked for only one")
        return found[0]

    def with_connection(self, server: str | None, config: str | None) -> Self:
        """With the environment's connection, where the command line names none."""
        if server is not None and not (self.has("bootstrap-server") or self.has("bootstrap-controller")):
            self.values["bootstrap-server"] = [server]
        if config is not None:
            self.values.setdefault("command-config", [config])
        return self

    @property
    def connection(self) -> Connection:
        """For commands that a text names. What is given twice is refused elsewhere."""
        server, file = (next(iter(self.values.get(name, ())), None) for name in ("bootstrap-server", "command-config"))
        return ANY if server is None else Connection(server, file)

    def number(self, name: str) -> int:
        """A whole number of 64 bits; a size or a duration (in ms) may have a unit. Raises CommandFailed."""
        text = self.value(name) or ""
        with_unit = _WITH_UNIT[name](text) if name in _WITH_UNIT else None
        if with_unit is not None:
            text = str(with_unit)
        digits = text[1:] if text[:1] in ("-", "+") else text
        if not (digits.isascii() and digits.isdigit() and -(2**63) <= int(text) < 2**63):
            raise CommandFailed(f"Cannot parse argument {told(text)} of option {name}")
        return int(text)


def parse(arguments: Sequence[str], commands: Iterable[str] = ()) -> ParsedOptions:
    """Raises UnreadableCommandLine. `commands`: the names that an unknown option may mean, too."""
    parsed = ParsedOptions()
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--":
            break
        if word == "-" or not word.startswith("-"):
            continue
        name, _, value = word.lstrip("-").partition("=")
        option = BY_NAME.get(name)
        if option is None:
            unknown = told_option(word if word.startswith("--") else word[:2])
            near = near_option([word], (f"--{one}" for one in BY_NAME))
            if name in commands:
                near = f" ({PROGRAM} {name} is a command)"
            raise UnreadableCommandLine(f"{unknown.lstrip('-')} is not a recognized option", hint=near)
        values = parsed.values.setdefault(name, [])
        if option.value is None:
            continue
        if value:
            values.append(value)
        elif words and not (option.optional_value and words[0].startswith("-")):
            values.append(words.pop(0))
        elif not option.optional_value:
            raise UnreadableCommandLine(f"Option {name} requires an argument")
    return parsed


_PLAN, _TOPICS = ("reassignment-json-file",), ("topics-to-move-json-file", "broker-list")
_OF_MOVES = (
    *("throttle", "lease", "lift-stricter", "reason", "disallow-replication-factor-change", "expect-current"),
    *("watch", "dry-run"),
)
_RULES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "generate": (_TOPICS, ("disable-rack-aware",)),
    "execute": (_PLAN, (*_OF_MOVES, "additional", "replica-alter-log-dirs-throttle", "timeout")),
    "verify": (_PLAN, ("preserve-throttles",)),
    "cancel": ((), (*_PLAN, "preserve-throttles", "timeout", "bootstrap-controller")),
    "list": ((), ("bootstrap-controller",)),
    "generate-queue": (_TOPICS, ("disable-rack-aware",)),
    "execute-queue": (_PLAN, _OF_MOVES),
    "verify-queue": (_PLAN, ("preserve-throttles",)),
    "disable": ((), ()),
    "enable": ((), ()),
}
"""By action: the options that it requires, and those that it permits besides."""
_OF_ALL_ACTIONS = ("bootstrap-server", "command-config", "json")


def chosen_action(options: ParsedOptions) -> str:
    """Raises UnreadableCommandLine, in the stock tool's order and words."""
    asked = [name for name in _RULES if options.has(name)]
    if len(asked) != 1:
        every = ", ".join(f"--{name}" for name in _RULES)
        raise UnreadableCommandLine(f"Command must include exactly one action: {every}")
    connections = [name for name in ("bootstrap-server", "bootstrap-controller") if options.has(name)]
    if len(connections) > 1:
        raise UnreadableCommandLine("Please don't specify both --bootstrap-server and --bootstrap-controller")
    if not connections:
        raise UnreadableCommandLine("Please specify either --bootstrap-server or --bootstrap-controller")
    [action] = asked
    required, permitted = _RULES[action]
    for name in required:
        if not options.has(name):
            raise UnreadableCommandLine(f'Missing required argument "[{name}]"')
    allowed = {action, *required, *permitted, *_OF_ALL_ACTIONS}
    for name in options.values:
        if name not in allowed:
            raise UnreadableCommandLine(f'Option "[{name}]" can\'t be used with action "[{action}]"')
    return action
