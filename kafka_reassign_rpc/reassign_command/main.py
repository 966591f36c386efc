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
    action_execute,
    action_generate,
    action_list,
    action_queue,
    action_settings,
    action_verify,
)
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import (
    CommandFailed,
    TerseFailure,
    UnreadableCommandLine,
    from_server,
)
from kafka_reassign_rpc.reassign_command.command_line import COMMANDS, HEADLINE, USAGE, help_text, parse_command, parser
from kafka_reassign_rpc.reassign_command.options import PROGRAM, ParsedOptions, chosen_action, parse
from kafka_reassign_rpc.reassign_command.output import Output
from kafka_reassign_rpc.reassign_command.subcommands import parsed_options
from kafka_reassign_rpc.support.connection_flags import bootstrap_server, command_config, misspelt
from kafka_reassign_rpc.support.product_version import product_version
from kafka_reassign_rpc.support.secrecy import told
from kafka_reassign_rpc.support.shell_completion import SHELLS, script
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
    "disable": action_settings.disable,
    "enable": action_settings.enable,
}
"""The function of each action that is an option. It may return an exit code."""


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
        if (asked := parse_command(arguments)) is not None:
            command, found = asked
            return _run_action(lambda context: command.carry_out(context, found), parsed_options(found))
        options = parse(arguments, COMMANDS)
        if not arguments or options.has("help"):
            sys.stderr.write(f"{HEADLINE}\n{help_text(COMMANDS.values())}\n")
            return 1
        if options.has("version"):
            return _print(f"{product_version()}\n")
        if options.has("completion"):
            return _print(_completion(options.value("completion") or ""))
        options = options.with_connection(bootstrap_server(), command_config())
        action = chosen_action(options)
    except UnreadableCommandLine as error:
        # Scripts read what is wrong in the first line, where the stock tool says it, and people in the last one.
        last = f"{PROGRAM}: {error}{error.hint}"
        lines = [error.usage, error] if error.usage else [error, USAGE, last]
        sys.stderr.writelines(f"{line}\n" for line in lines)
        return 1
    except CommandFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return _run_action(ACTIONS[action], options)


def _completion(shell: str) -> str:
    if shell not in SHELLS:
        raise CommandFailed(f"--completion: expected one of {', '.join(SHELLS)}, got {told(shell)}")
    return script(parser(), shell)


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
