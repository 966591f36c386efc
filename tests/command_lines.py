"""Whether a line is a command that the product takes: the real parsers read it, and nothing runs."""

import argparse
import itertools
import shlex
from importlib import import_module

from kafka_reassign_rpc.reassign_command import options
from kafka_reassign_rpc.reassign_command.command_errors import UnreadableCommandLine
from kafka_reassign_rpc.reassign_command.main import parse_command

OURS = ("kafka-reassign", "kafka-reassign-rpc")


def refusal(line: str) -> str:
    """Why a command line of ours is none; empty: it is one."""
    program, *words = _words(line)
    try:
        _of_kafka_reassign(words) if program == "kafka-reassign" else _of_kafka_reassign_rpc(words)
    except (UnreadableCommandLine, argparse.ArgumentError, ImportError) as error:
        return str(error)
    except SystemExit as ended:  # argparse has printed why; 0: the help or the version
        return f"exit code {ended.code}" if ended.code else ""
    return ""


def _words(line: str) -> list[str]:
    """Up to what is the shell's: pipes, redirections."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    return [*itertools.takewhile(lambda word: not set(word) <= set("|&;<>()"), reader)]


def _of_kafka_reassign(words: list[str]) -> None:
    if parse_command(words) is not None:
        return
    parsed = options.parse(words)
    if not (parsed.has("help") or parsed.has("version") or parsed.has("completion")):
        options.chosen_action(parsed)


def _of_kafka_reassign_rpc(words: list[str]) -> None:
    name, *arguments = words
    if name.startswith("--"):
        return
    parser = argparse.ArgumentParser()
    import_module(f"kafka_reassign_rpc.cli.{name}_command").add_arguments(parser)
    parser.parse_args(arguments)
