"""`kafka-reassign hold` and `kafka-reassign release`: keep moves of the queue from starting, and let them start."""

from collections.abc import Sequence

from kafka_reassign_rpc.client import UnsupportedHere
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure
from kafka_reassign_rpc.reassign_command.nothing_matched import nothing_matched
from kafka_reassign_rpc.reassign_command.options import Option
from kafka_reassign_rpc.reassign_command.subcommands import Parser, broker_ids, connection_options
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.typed_commands import command

HOLD, RELEASE = "hold", "release"


def _parser(name: str) -> Parser:
    about = (
        "Held moves of the queue keep their place and do not start before they are released. A move that joins the "
        "queue later is not held."
        if name == HOLD
        else "Held moves may start again, each when it is its turn. One whose partition has other replicas by now than "
        "when it was held does not start: it leaves the queue, with an event."
    )
    parser = Parser(
        name,
        f"{about} Name all moves, or those that all the given options name. Needs a kafka-reassign-rpc server as the "
        "controller.",
        "Moves in flight go on: brokers cannot pause a copy and keep what they have copied. --cancel takes them back; "
        "what they have copied is deleted.",
    )
    parser.add_argument("--all", action="store_true", help="all moves of the queue")
    parser.add_argument("--topic", action="append", metavar="TOPIC", help="moves of this topic; may be repeated")
    parser.add_argument(
        "--broker",
        type=broker_ids,
        metavar="3,7",
        help="moves with a replica on one of these, old or new",
    )
    parser.add_argument(
        "--request",
        action="append",
        metavar="REASON",
        help="moves that were asked for with this reason (--reason), such as those of one plan; may be repeated",
    )
    if name == HOLD:
        parser.add_argument("--reason", metavar="TEXT", default="", help="why; it is shown with each move")
    return parser


class _Command:
    """The parsed command line. `options`: the connection options. Raises UnreadableCommandLine."""

    def __init__(self, name: str, arguments: Sequence[str]) -> None:
        found = _parser(name).parse(arguments)
        names_some = any(one is not None for one in (found.topic, found.broker, found.request))
        if found.all == names_some:
            raise _parser(name).misused("give --all, or some of --topic, --broker and --request")
        self._command, self._is_all = name, found.all
        self._named = {"topics": found.topic, "brokers": found.broker, "requests": found.request}
        self._reason: str = found.reason if name == HOLD else ""
        self.options = connection_options(found)

    def run(self, context: ActionContext) -> None:
        client, output = context.client, context.output
        try:
            if self._command == HOLD:
                found = client.hold(**self._named, reason=self._reason)
            else:
                found = client.release(**self._named)
        except UnsupportedHere as error:
            raise TerseFailure(error.message) from None
        done = "held" if self._command == HOLD else "released"
        output.collect(**{done: found.changed}, unchanged=found.unchanged, in_flight=found.in_flight)
        if not self._is_all and not (found.changed or found.unchanged or found.in_flight):
            raise nothing_matched(client, "No such move is in the queue", **self._named)
        already = "held already" if self._command == HOLD else "not held"
        others = f", {found.unchanged} {already}" if found.unchanged else ""
        output.line(f"{counted(found.changed, 'move')} {done}{others}.")
        if self._command == HOLD and found.in_flight:
            output.line(f"{counted(found.in_flight, 'move')} in flight: a hold does not stop them (--cancel does).")
        if self._command == RELEASE and (unapproved := client.healing_status().unapproved):
            output.collect(unapproved=unapproved)
            output.line(
                f"{counted(unapproved, 'move')} of repairs {agreeing(unapproved, 'wait')} for approval besides:"
                f" {command('kafka-reassign heal', '--approve')}"
            )


class HoldCommand(_Command):
    COMMAND = HOLD

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(HOLD, arguments)


class ReleaseCommand(_Command):
    COMMAND = RELEASE

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(RELEASE, arguments)


def options(name: str) -> list[Option]:
    return _parser(name).options()
