"""`kafka-reassign-rpc --completion bash|zsh`: prints a script with which the shell completes commands and options.

The script follows from the parser itself. Where nothing is known about a value, the shell completes names of files.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from kafka_reassign_rpc.support.standard_output import write_out

PROGRAM = "kafka-reassign-rpc"
FUNCTION = "_kafka_reassign_rpc"
SHELLS = ("bash", "zsh")
_CHOICES = re.compile(r"[a-z]+(\|[a-z]+)+")
"""A metavar such as `never|vacant|always`."""


class CompletionAction(argparse.Action):
    def __call__(
        self, parser: argparse.ArgumentParser, _namespace: argparse.Namespace, values: Any, _option: str | None = None
    ) -> None:
        write_out(sys.stdout, script(parser, str(values)))
        parser.exit()


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Source it, as with `source <(kafka-reassign-rpc --completion bash)`."""
    commands = _commands(parser)
    cases = "\n".join(f"        {name}) {_words(sub)} ;;" for name, sub in commands.items())
    values = "\n".join(
        f"        {option}) COMPREPLY=($(compgen -W '{' '.join(words)}' -- \"$word\")); return 0 ;;"
        for option, words in sorted(_values([parser, *commands.values()]).items())
    )
    taken = "|".join(sorted(_with_other_values([parser, *commands.values()])))
    head = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return f"""\
{head}{FUNCTION}() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words=""
    COMPREPLY=()
    case "${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}
        {taken}) return 0 ;;
    esac
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    if [[ "$COMP_CWORD" -eq 1 ]]; then
        words="{" ".join([*commands, *_options(parser)])}"
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F {FUNCTION} {PROGRAM}
"""


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _words(parser: argparse.ArgumentParser) -> str:
    """Options, and what a word without dashes may be: the commands below, or the choices of an argument."""
    choices = [
        str(choice) for action in parser._actions if not action.option_strings for choice in action.choices or ()
    ]
    commands = _commands(parser)
    below = [option for sub in commands.values() for option in _options(sub)]
    all_words = f'words="{" ".join(dict.fromkeys([*choices, *_options(parser), *below]))}"'
    if not commands:
        return all_words
    # Behind the name of a command below, as in `plan drain`, only its own options follow.
    cases = " ;; ".join(f"{name}:1) {_words(sub)}" for name, sub in commands.items())
    return f'case "${{COMP_WORDS[2]}}:$((COMP_CWORD > 2))" in {cases} ;; *) {all_words} ;; esac'


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from (name for name in action.option_strings if name.startswith("--"))


def _all_actions(parsers: Sequence[argparse.ArgumentParser]) -> Iterator[argparse.Action]:
    for parser in parsers:
        yield from parser._actions
        yield from _all_actions(list(_commands(parser).values()))


def _values(parsers: Sequence[argparse.ArgumentParser]) -> dict[str, list[str]]:
    """Leaves out options that take any word."""
    found: dict[str, list[str]] = {}
    for action in _all_actions(parsers):
        words = [str(choice) for choice in action.choices or ()]
        if isinstance(action.metavar, str) and _CHOICES.fullmatch(action.metavar):
            words = action.metavar.split("|")
        if words:
            found |= dict.fromkeys((name for name in action.option_strings if name.startswith("--")), words)
    return found


def _with_other_values(parsers: Sequence[argparse.ArgumentParser]) -> set[str]:
    known = _values(parsers)
    return {
        name
        for action in _all_actions(parsers)
        if action.nargs != 0
        for name in action.option_strings
        if name.startswith("--") and name not in known
    }
