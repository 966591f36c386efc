"""`kafka-reassign-rpc --completion bash|zsh|fish`: the script for the completion of a shell follows from the parser."""

import argparse
import re
import sys
from typing import Any

from kafka_reassign_rpc.support import shell_completion
from kafka_reassign_rpc.support.shell_completion import CompletedCommand, Flag
from kafka_reassign_rpc.support.standard_output import write_out

_CHOICES = re.compile(r"[A-Za-z0-9]+(\|[A-Za-z0-9]+)+")
"""A metavar such as `never|vacant|always`."""
_PATHS = ("FILE", "DIR", "SNAPSHOT")


class CompletionAction(argparse.Action):
    def __call__(
        self, parser: argparse.ArgumentParser, _namespace: argparse.Namespace, values: Any, _option: str | None = None
    ) -> None:
        write_out(sys.stdout, shell_completion.script(str(values), parser.prog, _completed(parser)))
        parser.exit()


def _completed(parser: argparse.ArgumentParser) -> CompletedCommand:
    flags, commands, words = [], {}, list[str]()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            commands = {name: _completed(below) for name, below in action.choices.items()}
        elif not action.option_strings:
            words += map(str, action.choices or ())
        elif action.help != argparse.SUPPRESS:  # such a flag only says where its value belongs
            flags.append(_flag(action))
    return CompletedCommand(flags, commands, words)


def _flag(action: argparse.Action) -> Flag:
    value = "" if action.nargs == 0 else str(action.metavar or action.dest)
    words = value.split("|") if _CHOICES.fullmatch(value) else action.choices or ()
    about = re.split(r"\. |[;:(]|\.$", action.help or "")[0].strip()
    return Flag(
        action.option_strings[-1],
        about,
        value,
        tuple(map(str, words)),
        value in _PATHS,
        is_optional=action.nargs == "?",
    )
