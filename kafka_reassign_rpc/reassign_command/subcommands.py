"""What the commands of `kafka-reassign` have in common: status, move, throttle, heal and others."""

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from typing import NamedTuple, NoReturn

from kafka_reassign_rpc.core.config_values import BROKER_IDS, parse_brokers
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import UnreadableCommandLine, our_server_needed
from kafka_reassign_rpc.reassign_command.options import ParsedOptions
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.quiet_arguments import QuietParser
from kafka_reassign_rpc.support.secrecy import told


class Parser(QuietParser):
    def refuse(self, message: str) -> NoReturn:
        """Raises UnreadableCommandLine."""
        raise UnreadableCommandLine(f"{self.prog}: {message}", self.short_usage())


def _nothing(_: argparse.ArgumentParser) -> None: ...


def _fine(_: argparse.Namespace) -> None: ...


class OurCommand(NamedTuple):
    """problem  what is wrong with options that argparse takes
    run      may return an exit code
    is_ours  only a kafka-reassign-rpc server can do it
    """

    name: str
    help: str
    description: str
    run: Callable[[ActionContext, argparse.Namespace], int | None]
    add_arguments: Callable[[argparse.ArgumentParser], None] = _nothing
    problem: Callable[[argparse.Namespace], str | None] = _fine
    epilog: str = ""
    is_ours: bool = True

    @property
    def about(self) -> str:
        needs = " Needs a kafka-reassign-rpc server as the controller." if self.is_ours else ""
        return f"{self.description}{needs}"

    def carry_out(self, context: ActionContext, asked: argparse.Namespace) -> int | None:
        with our_server_needed() if self.is_ours else nullcontext():
            return self.run(context, asked)


def number_of(what: str, most: int) -> Callable[[str], int]:
    """A parser of `what`, a whole number from 0 to `most`."""

    def parse(text: str) -> int:
        found = whole_number(text, 0, most)
        if found is None:
            raise argparse.ArgumentTypeError(f"expected {what}, got {told(text)}")
        return found

    return parse


def broker_ids(text: str) -> frozenset[int]:
    """Needs at least one: `3,7`."""
    found = parse_brokers(text)
    if not found:
        raise argparse.ArgumentTypeError(f"expected {BROKER_IDS}, got {told(text)}")
    return found


def parsed_options(found: argparse.Namespace) -> ParsedOptions:
    """The switches and texts of a command, as `options.parse` gives those of the stock tool."""
    return ParsedOptions(
        {
            name.replace("_", "-"): [] if value is True else [value]
            for name, value in vars(found).items()
            if value is True or isinstance(value, str)
        }
    )
