"""`kafka-reassign`: one call of the command.

Exit code 0, or 1 for whatever went wrong, as the stock tool has it (its help ends with 1, too); 2 where
--verify-queue found something that waits or moves; 130 on Ctrl-C.
"""

import logging
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version

from kafka_reassign_rpc.client import KafkaError
from kafka_reassign_rpc.reassign_command import (
    action_cancel,
    action_completion,
    action_describe,
    action_disable_enable,
    action_events,
    action_execute,
    action_generate,
    action_heal,
    action_list,
    action_queue,
    action_verify,
    action_watch,
    help_text,
)
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import Failed, OptionError, OptionsError, Terse, from_server
from kafka_reassign_rpc.reassign_command.options import ParsedOptions, parse
from kafka_reassign_rpc.reassign_command.output import Output

DISTRIBUTION = "kafka-reassign-rpc"

ACTIONS: dict[str, Callable[[ActionContext], int | None]] = {
    "generate": action_generate.run,
    "execute": action_execute.run,
    "verify": action_verify.run,
    "cancel": action_cancel.run,
    "list": action_list.run,
    "generate-queue": action_queue.generate,
    "execute-queue": action_queue.execute,
    "verify-queue": action_queue.verify,
    "disable": action_disable_enable.disable,
    "enable": action_disable_enable.enable,
    "describe": action_describe.run,
    "watch": action_watch.run,
    "events": action_events.run,
}
"""What each action does; it may return an exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, or those of the process."""
    arguments = sys.argv[1:] if argv is None else argv
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="[%(asctime)s] %(levelname)s %(message)s")
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    try:
        if arguments[:1] == [action_heal.COMMAND]:
            wanted = action_heal.Wanted(arguments[1:])
            return _act(wanted.run, wanted.given)
        given = parse(arguments)
        if not arguments or given.has("help"):
            return _explain(help_text.HEADLINE)
        if given.has("version"):
            return _print(f"{_version()}\n")
        if given.has("completion"):
            return _print(action_completion.script(given.value("completion") or ""))
        action = help_text.action(given)
    except (OptionError, Failed) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except OptionsError as error:
        return _explain(str(error))
    return _act(ACTIONS[action], given)


def _print(text: str) -> int:
    sys.stdout.write(text)
    return 0


def _explain(problem: str) -> int:
    sys.stderr.write(f"{problem}\n{help_text.help_text()}\n")
    return 1


def _act(action: Callable[[ActionContext], int | None], given: ParsedOptions) -> int:
    output = Output(sys.stdout, as_json=given.has("json"))
    problem = ""
    code: int | None = 0
    try:
        with ActionContext(given, output) as session:
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
