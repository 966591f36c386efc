"""The options: what each is called, what it says of itself, and how a command line is taken apart.

Reads a command line as jopt-simple does for the stock tool: no abbreviations, `--name value` and `--name=value`,
words that are no option ignored, an option with a value needs one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kafka_reassign_rpc.reassign_command.command_errors import Failed, OptionError

_THROTTLE_HELP = (
    "will be throttled to this value (bytes/sec). This option can be included with --execute when a reassignment is "
    "started, and it can be altered by resubmitting the current reassignment along with the --additional flag. The "
    "throttle rate should be at least 1 KB/s."
)


@dataclass(frozen=True)
class Option:
    """`value` describes the value it takes; None: it takes none. `ours`: the stock tool has no such option."""

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
    Option("cancel", "Cancel an active reassignment. Without --reassignment-json-file: all that move or wait."),
    Option(
        "generate-queue",
        "Generate a candidate as --generate does, for --execute-queue: a partition that moves or waits counts as if it "
        "stood where it is to stand. Needs a kafka-reassign-rpc server as the controller.",
        ours=True,
    ),
    Option(
        "execute-queue",
        "Put the reassignment of --reassignment-json-file into the controller's queue, whatever moves already: each "
        "partition starts when it is its turn, and its move replaces the one that is under way. Needs a "
        "kafka-reassign-rpc server as the controller.",
        ours=True,
    ),
    Option(
        "verify-queue",
        "Tell which partitions of --reassignment-json-file wait, move, are done, or are none of these; throttles are "
        "removed as with --verify. Exit code 0 where all are done, 2 where some wait or move, 1 where some are none of "
        "these. Needs a kafka-reassign-rpc server as the controller.",
        ours=True,
    ),
    Option(
        "disable",
        "Let no new reassignment start, by whatever route; what moves goes on, and can be cancelled. Needs a "
        "kafka-reassign-rpc server as the controller.",
        ours=True,
    ),
    Option(
        "enable",
        "Let new reassignments start again, after --disable. Exit code 1, and the reason, where something else keeps "
        "them. Needs a kafka-reassign-rpc server as the controller.",
        ours=True,
    ),
    Option("list", "List all active partition reassignments."),
    Option(
        "describe",
        "Show when each active reassignment started, its leader, its throttles and what its new replicas hold. "
        "Needs a kafka-reassign-rpc server as the controller.",
        ours=True,
    ),
    Option(
        "watch",
        "Follow the active reassignments, or those of --reassignment-json-file, until they are done: bytes, rate and "
        "time left. After --execute and --execute-queue as well.",
        ours=True,
    ),
    Option(
        "events",
        "Show what the controller has decided and what became of it, oldest first. Needs a kafka-reassign-rpc "
        "server as the controller.",
        ours=True,
    ),
    Option("follow", "With --events: go on with what happens from then on, also after a failover.", ours=True),
    Option("completion", "Print a script that completes the options of this command.", "bash|zsh", ours=True),
    Option("bootstrap-server", "the server(s) to use for bootstrapping.", "Server(s) to use for bootstrapping"),
    Option(
        "bootstrap-controller",
        "The controller to use for reassignment. By default, the tool will get the quorum controller. This option "
        "supports the actions --cancel and --list.",
        "bootstrap controller to connect to",
    ),
    Option(
        "command-config",
        "Property file containing configs to be passed to Admin Client.",
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
        "With --throttle: the controller sets the throttle, for exactly the replicas that move, and puts back what "
        "stood before as soon as they have moved or are cancelled; no --verify is needed, and the throttles of others "
        "stay. Without it a throttle stays until --verify, as scripts may expect. A throttle of 0 takes away what the "
        "moves have so. Needs a kafka-reassign-rpc server as the controller.",
        ours=True,
    ),
    Option(
        "reason",
        "What the reassignment is for: the controller keeps it with each move, and --list, --describe and --events "
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
        "The maximum time in ms to wait for log directory replica assignment to begin.",
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
        "Refuse each partition whose replicas are not, in this order, the expected ones: those of the given file (what "
        '--execute printed to be used during rollback, for one), or else the "expected_replicas" of each entry of '
        "--reassignment-json-file. Needs a kafka-reassign-rpc server as the controller.",
        "json file path with the current assignment",
        optional_value=True,
        ours=True,
    ),
    Option("json", "Print JSON instead of text.", ours=True),
    Option("help", "Print usage information."),
    Option("version", "Display the version of this command."),
)

BY_NAME = {option.name: option for option in OPTIONS}


@dataclass
class ParsedOptions:
    """The options that were given, in order, with their values."""

    values: dict[str, list[str]] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        return name in self.values

    def value(self, name: str) -> str | None:
        """The value, or the default. Raises Failed where it was given twice."""
        found = self.values.get(name)
        if not found:
            return BY_NAME[name].default
        if len(found) > 1:
            raise Failed(f"Found multiple arguments for option {name}, but you asked for only one")
        return found[0]

    def number(self, name: str) -> int:
        """A whole number of 64 bits. Raises Failed."""
        text = self.value(name) or ""
        digits = text[1:] if text[:1] in ("-", "+") else text
        if not (digits.isascii() and digits.isdigit() and -(2**63) <= int(text) < 2**63):
            raise Failed(f"Cannot parse argument '{text}' of option {name}")
        return int(text)


def parse(arguments: Sequence[str]) -> ParsedOptions:
    """Raises OptionError for what cannot be read."""
    given = ParsedOptions()
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
            unknown = name if word.startswith("--") else name[:1]
            raise OptionError(f"{unknown} is not a recognized option")
        values = given.values.setdefault(name, [])
        if option.value is None:
            continue
        if value:
            values.append(value)
        elif words and not (option.optional_value and words[0].startswith("-")):
            values.append(words.pop(0))
        elif not option.optional_value:
            raise OptionError(f"Option {name} requires an argument")
    return given


def names(options: Iterable[Option]) -> str:
    return ", ".join(f"--{option.name}" for option in options)
