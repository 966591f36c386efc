"""--completion: prints a script for a shell that completes commands and options."""

from collections.abc import Sequence

from kafka_reassign_rpc.reassign_command import (
    action_cordon,
    action_heal,
    action_hold,
    action_move,
    action_settings,
    action_throttle,
)
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed
from kafka_reassign_rpc.reassign_command.options import OPTIONS, Option
from kafka_reassign_rpc.support import shell_completion
from kafka_reassign_rpc.support.secrecy import told
from kafka_reassign_rpc.support.shell_completion import SHELLS, CompletedCommand, Flag

COMMANDS = {
    one.COMMAND: one.options() for one in (action_move, action_throttle, action_heal, action_cordon, action_settings)
} | {command: action_hold.options(command) for command in (action_hold.HOLD, action_hold.RELEASE)}


def script(shell: str) -> str:
    """Raises CommandFailed for another shell."""
    if shell not in SHELLS:
        raise CommandFailed(f"--completion: expected one of {', '.join(SHELLS)}, got {told(shell)}")
    below = {name: CompletedCommand(_flags(options)) for name, options in COMMANDS.items()}
    return shell_completion.script(shell, "kafka-reassign", CompletedCommand(_flags(OPTIONS), below))


def _flags(options: Sequence[Option]) -> list[Flag]:
    return [
        Flag(
            f"--{one.name}",
            one.help.split(". ")[0].split("\n")[0].rstrip("."),
            one.value or "",
            SHELLS if one.name == "completion" else (),
            is_file="file" in (one.value or ""),
            is_optional=one.optional_value,
        )
        for one in options
    ]
