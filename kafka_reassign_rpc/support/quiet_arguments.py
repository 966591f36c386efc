"""The parser of command lines: argparse, but its errors repeat nothing that may be a secret; the error for wrong flags
and settings; and `--completion SHELL`: a script with which a shell completes commands and options, made from the parser
by shtab.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar, cast

from kafka_reassign_rpc.support.secrecy import told, told_option, told_words
from kafka_reassign_rpc.support.standard_output import write_out

_AMBIGUOUS = re.compile(r"ambiguous option: (.*) could match (.*)", re.DOTALL)
_NEAR = 0.75
"""From 0.6 on, as elsewhere, --since would mean --cancel."""
_NO_VALUE = re.compile(r"(argument [^:]*): ignored explicit argument .*", re.DOTALL)


def near_option(words: Iterable[str], known: Iterable[str]) -> str:
    """The end of an error about words that are no option: what the first may mean, with a blank before it, or ""."""
    named = next((told_option(word) for word in words if word.startswith("--")), "")
    near = get_close_matches(named, known, 1, _NEAR)
    return f" (is {near[0]} meant?)" if near else ""


class QuietParser(argparse.ArgumentParser):
    """Parsers of subcommands are of this class too."""

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            chosen = self.parser_of(found)
            chosen.error(
                f"unrecognized arguments: {told_words(rest)}{near_option(rest, chosen._option_string_actions)}"
            )
        return found

    def parser_of(self, found: argparse.Namespace) -> argparse.ArgumentParser:
        """The parser of the command that was found: argparse leaves its words to the parser above."""
        for action in self._subparsers._group_actions if self._subparsers else ():
            chosen = self.commands().get(str(getattr(found, action.dest, None)))
            return self if chosen is None else chosen.parser_of(found)
        return self

    def commands(self) -> Mapping[str, "QuietParser"]:
        """The parsers of the commands below this one."""
        found = self._subparsers._group_actions[0].choices if self._subparsers else None
        return cast(Mapping[str, QuietParser], found or {})

    def error(self, message: str) -> None:  # type: ignore[override]
        """Two of argparse's own messages have a value in them."""
        if (found := _AMBIGUOUS.fullmatch(message)) is not None:
            message = f"ambiguous option: {told_option(found[1])} could match {found[2]}"
        self.refuse(_NO_VALUE.sub(r"\1: takes no value", message))

    def refuse(self, message: str) -> None:
        self.exit(2, f"{self.short_usage()}\n{self.prog}: error: {message}\n")

    def short_usage(self) -> str:
        """What has to be given, and where to read about the rest."""
        return f"usage: {self.usage or self._needed()}\n       {self.prog} --help explains all"

    def _needed(self) -> str:
        groups = [group for group in self._mutually_exclusive_groups if group.required]
        words = [f"({' | '.join(map(self._form, group._group_actions))})" for group in groups]
        words += [self._form(one) for one in self._actions if one.option_strings and one.required]
        words += [self._form(one) for one in self._actions if not one.option_strings]
        return " ".join((self.prog, *words, "[OPTION …]"))

    def _form(self, action: argparse.Action) -> str:
        value = self._get_formatter()._format_args(action, action.dest.upper())
        return " ".join(filter(None, (*action.option_strings[-1:], value)))

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        parse = self._registry_get("type", action.type, action.type)
        try:
            return parse(arg_string)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(action, str(error)) from None
        except (TypeError, ValueError):
            kind = {int: "a whole number", float: "a number"}.get(parse, "another value")
            raise argparse.ArgumentError(action, f"expected {kind}, got {told(arg_string)}") from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = ", ".join(map(str, action.choices))
            raise argparse.ArgumentError(action, f"expected one of {choices}, got {told(value)}")


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


T = TypeVar("T")


class UsageError(Exception):
    """A wrong flag or setting. The message names it and what was expected; the command ends with exit code 2."""


def checked(flag: str, parse: Callable[[Any], T], value: Any) -> T:
    """`parse(value)`; its ValueError becomes a UsageError that names the flag."""
    try:
        return parse(value)
    except ValueError as error:
        raise UsageError(f"{flag}: {error}") from None


def checked_if_given(flag: str, parse: Callable[[Any], T], value: Any | None) -> T | None:
    """`checked`, but None, a flag that was not given, stays None."""
    return None if value is None else checked(flag, parse, value)
