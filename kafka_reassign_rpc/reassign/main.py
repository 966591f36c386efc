"""`kafka-reassign`: one call of the command.

Exit code 0, or 1 for whatever went wrong, as the stock tool has it (its help ends with 1, too); 2 where
--verify-queue found something that waits or moves; 130 on Ctrl-C.
"""

import logging
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version

from kafka_reassign_rpc.client import KafkaError
from kafka_reassign_rpc.reassign import (
    cancelling,
    completion,
    describing,
    executing,
    generating,
    healing,
    listing,
    queueing,
    recounting,
    switching,
    usage,
    verifying,
    watching,
)
from kafka_reassign_rpc.reassign.errors import Failed, OptionError, Terse, UsageError, from_server
from kafka_reassign_rpc.reassign.options import Given, parse
from kafka_reassign_rpc.reassign.output import Output
from kafka_reassign_rpc.reassign.session import Session

DISTRIBUTION = "kafka-reassign-rpc"

ACTIONS: dict[str, Callable[[Session], int | None]] = {
    "generate": generating.run,
    "execute": executing.run,
    "verify": verifying.run,
    "cancel": cancelling.run,
    "list": listing.run,
    "generate-queue": queueing.generate,
    "execute-queue": queueing.execute,
    "verify-queue": queueing.verify,
    "disable": switching.disable,
    "enable": switching.enable,
    "describe": describing.run,
    "watch": watching.run,
    "events": recounting.run,
}
"""What each action does; it may return an exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, or those of the process."""
    arguments = sys.argv[1:] if argv is None else argv
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="[%(asctime)s] %(levelname)s %(message)s")
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    try:
        if arguments[:1] == [healing.COMMAND]:
            wanted = healing.Wanted(arguments[1:])
            return _act(wanted.run, wanted.given)
        given = parse(arguments)
        if not arguments or given.has("help"):
            return _explain(usage.HEADLINE)
        if given.has("version"):
            return _print(f"{_version()}\n")
        if given.has("completion"):
            return _print(completion.script(given.value("completion") or ""))
        action = usage.action(given)
    except (OptionError, Failed) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except UsageError as error:
        return _explain(str(error))
    return _act(ACTIONS[action], given)


def _print(text: str) -> int:
    sys.stdout.write(text)
    return 0


def _explain(problem: str) -> int:
    sys.stderr.write(f"{problem}\n{usage.help_text()}\n")
    return 1


def _act(action: Callable[[Session], int | None], given: Given) -> int:
    output = Output(sys.stdout, as_json=given.has("json"))
    problem = ""
    code: int | None = 0
    try:
        with Session(given, output) as session:
            code = action(session)
    except Terse as error:
        problem = str(error)
    except Failed as error:
        problem = f"Error: {error}"
    except KafkaError as error:
        problem = f"Error: {from_server(error)}"
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return 130
    if problem:
        output.line(problem)
        output.note(error=problem.removeprefix("Error: "))
    output.finish()
    return 1 if problem else code or 0


def _version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


if __name__ == "__main__":
    raise SystemExit(main())
