"""`--completion SHELL`: a script with which a shell completes commands and options, made from the parser by shtab."""

import argparse
import re
import sys
from collections.abc import Iterator
from typing import Any

from kafka_reassign_rpc.support.standard_output import write_out

SHELLS = ("bash", "zsh", "fish", "tcsh")
_CHOICES = re.compile(r"[A-Za-z0-9]+(\|[A-Za-z0-9]+)+")
"""A metavar such as `never|vacant|always`."""
_PATHS = re.compile(r"FILE|DIR|SNAPSHOT|.*\bfile\b.*")


def add_completion(
    parser: argparse.ArgumentParser,
    about: str = "print a script with which the shell completes commands and options",
) -> None:
    parser.add_argument("--completion", action=_Completion, choices=SHELLS, metavar="|".join(SHELLS), help=about)


class _Completion(argparse.Action):
    def __call__(
        self, parser: argparse.ArgumentParser, _namespace: argparse.Namespace, values: Any, _option: str | None = None
    ) -> None:
        write_out(sys.stdout, script(parser, values))
        parser.exit()


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """`shell`: one of SHELLS."""
    import shtab

    for action in _actions(parser):
        value = str(action.metavar or "")
        if action.choices is None and _CHOICES.fullmatch(value):
            action.choices = value.split("|")
        elif _PATHS.fullmatch(value):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        action.help = action.help and re.split(r"\. |[;(]|\.?$|\n", action.help)[0]
    return str(shtab.complete(parser, shell)) + "\n"


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)
