"""`kafka-reassign`: reads the command line, runs one action, and turns errors into text and an exit code.

Exit codes: 0 for success; 1 for any failure, and after the help, as in the stock tool; 2 if --verify-queue finds moves
that wait or are in flight; 130 after Ctrl-C.
"""

import logging
import os
import sys
from collections.abc import Callable, Sequence

from kafka_reassign_rpc.client import KafkaError
from kafka_reassign_rpc.reassign_command import (
    action_cancel,
    action_completion,
    action_cordon,
    action_describe,
    action_describe_topic,
    action_disable_enable,
    action_events,
    action_execute,
    action_generate,
    action_heal,
    action_hold,
    action_list,
    action_move,
    action_queue,
    action_settings,
    action_status,
    action_throttle,
    action_verify,
    action_watch,
    help_text,
    option_rules,
)
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import (
    CommandFailed,
    TerseFailure,
    UnreadableCommandLine,
    from_server,
)
from kafka_reassign_rpc.reassign_command.options import ParsedOptions, parse
from kafka_reassign_rpc.reassign_command.output import Output
from kafka_reassign_rpc.reassign_command.subcommands import command_of
from kafka_reassign_rpc.support.connection_flags import bootstrap_server, command_config
from kafka_reassign_rpc.support.environment import misspelt
from kafka_reassign_rpc.support.product_version import product_version
from kafka_reassign_rpc.support.standard_output import written_out

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
    "describe-topic": action_describe_topic.run,
    "watch": action_watch.run,
    "events": action_events.run,
    "status": action_status.run,
}
"""The function of each action. It may return an exit code."""

COMMANDS: dict[
    str,
    Callable[
        [Sequence[str]],
        action_cordon.CordonCommand
        | action_heal.HealCommand
        | action_hold.HoldCommand
        | action_hold.ReleaseCommand
        | action_move.MoveCommand
        | action_settings.SettingsCommand
        | action_throttle.ThrottleCommand,
    ],
] = {
    action_move.COMMAND: action_move.MoveCommand,
    action_heal.COMMAND: action_heal.HealCommand,
    action_throttle.COMMAND: action_throttle.ThrottleCommand,
    action_cordon.COMMAND: action_cordon.CordonCommand,
    action_hold.HOLD: action_hold.HoldCommand,
    action_hold.RELEASE: action_hold.ReleaseCommand,
    action_settings.COMMAND: action_settings.SettingsCommand,
}
"""Actions that are words: the class of each, which parses its arguments."""


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
        found = command_of(COMMANDS, arguments)
        if found is not None:
            word, of_command = found
            command = COMMANDS[word](of_command)
            return _run_action(command.run, command.options)
        options = parse(arguments)
        if not arguments or options.has("help"):
            sys.stderr.write(f"{help_text.HEADLINE}\n{help_text.help_text()}\n")
            return 1
        if options.has("version"):
            return _print(f"{product_version()}\n")
        if options.has("completion"):
            return _print(action_completion.script(options.value("completion") or ""))
        options = options.with_connection(bootstrap_server(), command_config())
        action = option_rules.chosen_action(options)
    except UnreadableCommandLine as error:
        # Scripts read what is wrong in the first line, where the stock tool says it, and people in the last one.
        lines = [error.usage, error] if error.usage else [error, help_text.USAGE, f"kafka-reassign: {error}"]
        sys.stderr.writelines(f"{line}\n" for line in lines)
        return 1
    except CommandFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return _run_action(ACTIONS[action], options)


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
