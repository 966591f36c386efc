"""A secret is planted at every place of every command where a user may put one by mistake, and looked for in all that
the command says.
"""

import argparse
import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.cli import fleet_command, leave_command, serve_command, watch_command, zookeeper_command
from kafka_reassign_rpc.cli.main import COMMANDS, main
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.client import ReassignmentClient
from kafka_reassign_rpc.reassign_command import main as reassign
from kafka_reassign_rpc.reassign_command.main import COMMANDS as COMMANDS_OF_REASSIGN
from kafka_reassign_rpc.reassign_command.options import OPTIONS
from kafka_reassign_rpc.support.quiet_arguments import QuietParser

pytestmark = pytest.mark.gate

MARKER = "hunter2,S3cret/Pa=ss;word!"
"""It is no number, no name and no path, and has what divides lists, pairs and users."""
PARTS = ("hunter2", "S3cret", "word!")
ZK = ("--zookeeper-connect", "127.0.0.1:1")
NODES = ("--bootstrap-server", "127.0.0.1:1")
FREE_TEXT = {"--reason", "--out", "--data-dir", "--event-log-dir", "USER", "TOPIC"}
"""What may be anything at all, and so is taken: a text for people, and directories that are made."""

STRAY = (
    *[(MARKER,), ("--password", MARKER), (f"--password={MARKER}",), (f"--password{MARKER}",), ("-p", MARKER)],
    *[(f"-p{MARKER}",), (f"-----BEGIN PRIVATE KEY-----\n{MARKER}",), ("--", MARKER), (f"--{MARKER}",)],
    *[("--ssl-key-password", "hunter2"), ("--passwordhunter",), ("--p=hunter2",), ("--secret-hunter2", "1")],
)
OPTIONS_OF = {
    "status": ["--command-config", "--bootstrap-server"],
    "describe": ["--command-config"],
    "describe-topic": ["--command-config"],
    "watch": ["--reassignment-json-file", "--command-config"],
    "events": ["--since", "--broker", "--event", "--command-config"],
    "move": ["-p", "--throttle", "--command-config", "--bootstrap-server"],
    "heal": ["--now", "--brokers", "--command-config"],
    "throttle": ["--topics", "--partitions", "--command-config"],
    "cordon": ["--brokers", "--uncordon"],
    "hold": ["--brokers", "--topics"],
    "release": ["--brokers", "--topics"],
    "settings": ["--set", "--delete", "--move"],
}

Said = Callable[..., str]


class Taken(Exception):
    """The command line was taken: now the command would begin."""


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Said]:
    """All that a command says for its arguments, with its log, in a directory of its own. It reaches no server."""

    def taken(work: Any = None, *_: object, **__: object) -> None:
        if asyncio.iscoroutine(work):
            work.close()
        raise Taken

    for module in (serve_command, fleet_command, zookeeper_command, watch_command, leave_command):
        monkeypatch.setattr(module, "run_until_signalled", taken, raising=False)
    monkeypatch.setattr(asyncio, "run", taken)
    monkeypatch.setattr(ReassignmentClient, "__init__", taken)
    monkeypatch.setattr(logging, "disable", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", StringIO("password"))
    log = logging.getLogger()
    before = log.handlers[:], log.level

    def run(*arguments: str, of: Callable[..., int] = main) -> str:
        log.handlers[:] = []  # so that the command sets up its own
        with suppress(SystemExit, Taken):
            of(arguments)
        found = capsys.readouterr()
        return found.out + found.err

    yield run
    log.handlers[:], log.level = before


def shown(text: str) -> list[str]:
    return [part for part in PARTS if part.lower() in text.lower()]


def parser_of(command: str) -> argparse.ArgumentParser:
    parser = QuietParser(prog=command)
    import_module(f"kafka_reassign_rpc.cli.{command}_command").add_arguments(parser)
    return parser


def leaves(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Commands with their subcommands, and the parser of each."""
    below = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    yield words, parser
    for one in below:
        for name, child in one.choices.items():
            yield from leaves(child, (*words, name))


def needed(parser: argparse.ArgumentParser, but: argparse.Action) -> list[str]:
    """What the parser wants besides one action, with values that reach no server."""
    flags = [one for one in parser._actions if one.required and one.option_strings and one is not but]
    found = [word for one in flags for word in (one.option_strings[-1], "1" if "id" in one.dest else "127.0.0.1:1")]
    for group in parser._mutually_exclusive_groups:
        if group.required and but not in group._group_actions:
            action = group._group_actions[0]
            found += [action.option_strings[-1], *([] if action.nargs == 0 else ["127.0.0.1:1"])]
    names = {flag for one in parser._actions for flag in one.option_strings}
    found += (
        [*ZK]
        if "--zookeeper-connect" in names
        and "--zookeeper-connect" not in found
        and but.dest != "zookeeper_connect"
        and not parser._mutually_exclusive_groups
        else []
    )
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_hm_7_no_flag_of_a_command_repeats_a_secret_that_was_put_there(command: str, said: Said) -> None:
    found = {}
    for words, parser in leaves(parser_of(command), (command,)):
        for action in parser._actions:
            if action.dest in ("help", "command", "goal") or {*action.option_strings, action.metavar} & FREE_TEXT:
                continue
            around = needed(parser, action)
            for flag in action.option_strings[-1:] or [""]:
                given = [(flag, MARKER), (f"{flag}={MARKER}",)] if flag else [(MARKER,)]
                for one in given:
                    text = said(*words, *around, *one)
                    if shown(text):
                        found[(*words, *one)] = text
        stray = STRAY if command != "hash" else [one for one in STRAY if one[-1] != MARKER]  # its word is a name
        for one in stray:
            text = said(*words, *one)
            if shown(text):
                found[(*words, *one)] = text
    assert found == {}


@pytest.mark.parametrize("word", ["", *sorted(COMMANDS_OF_REASSIGN)])
def test_hm_7_no_option_of_kafka_reassign_repeats_a_secret_that_was_put_there(word: str, said: Said) -> None:
    given: list[tuple[str, ...]]
    given = [(f"--{one.name}", MARKER) for one in OPTIONS if not word and one.name not in ("reason",)]
    given += [(f"{one}={MARKER}",) for one, *_ in given] + [(f"{one}x", MARKER) for one, *_ in given]
    if word:
        given = [(one, MARKER) for one in OPTIONS_OF[word]] + [(f"{one}={MARKER}",) for one in OPTIONS_OF[word]]
    found = {}
    for one in (*given, *STRAY):
        for around in (NODES, (*NODES, "--execute"), (*NODES, "--list"), ()):
            words = ((word,) if word else ()) + ((*NODES,) if word and around else around)
            text = said(*words, *one, of=reassign.main)
            if shown(text):
                found[(*words, *one)] = text
    assert found == {}


def settings_file(kind: str, lines: str, tmp_path: Path) -> tuple[str, str]:
    file = tmp_path / f"c.{kind}"
    file.write_text(lines, encoding="utf-8")
    return ("--config" if kind == "toml" else "--kafka-config"), str(file)


@pytest.mark.parametrize("command", ["serve", "check", "watch", "notify", "status", "leave"])
def test_hm_7_no_setting_in_a_file_repeats_a_secret_that_was_put_there(
    command: str, said: Said, tmp_path: Path
) -> None:
    around = NODES if command == "watch" else () if command == "notify" else ZK
    found = {}
    for place, one in enumerate(SETTINGS if command == "serve" else SETTINGS[::17]):
        if one.name in ("data.dir", "event.log.dir"):
            continue
        value = MARKER.replace('"', "")
        forms = (
            ("toml", f'"{one.name}" = "{value}"'),
            ("properties", f"{one.name}={value}\nkafka.config.listeners=true"),
            ("toml", f'"{one.name}" = ["{value}", "{value}"]'),
            ("toml", f'"{one.name}" = {{ "{value}" = "{value}" }}'),
            ("toml", f'"{one.name}" = {value}'),
            ("toml", f'"{one.name}x" = "{value}"'),
            ("toml", f'"listener.name.plaintext.{one.name}" = "{value}"'),
            ("properties", f"{one.name}x={value}"),
            ("properties", f"listener.name.plaintext.{one.name}={value}\nlisteners=PLAINTEXT://h:1"),
        )
        for kind, lines in (*forms[:2], forms[2 + place % (len(forms) - 2)]):
            text = said(command, *around, *settings_file(kind, lines, tmp_path))
            if shown(text):
                found[lines] = text
    assert found == {}


BROKEN = (
    "{0}",
    "{0}=1",
    "a.{0}.ssl=1",
    "ssl.{0}=1",
    "ssl.keystore.password{0}",
    "ssl.keystore.password.{0}=x",
    "listener.name.{0}.ssl.client.auth=required",
    "listener.name.plaintext.{0}.sasl.jaas.config=x",
    "sasl.jaas.config={0}",
    "listener.name.plaintext.plain.sasl.jaas.config={0}",
    'listener.name.plaintext.plain.sasl.jaas.config=x.PlainLoginModule required password="{0}',
    'listener.name.plaintext.plain.sasl.jaas.config=x.PlainLoginModule required\npassword="{0}";',
    'listener.name.plaintext.plain.sasl.jaas.config={0} required password="x";',
    "ssl.keystore.key=-----BEGIN PRIVATE KEY-----\n{0}\n-----END PRIVATE KEY-----",
    "ssl.keystore.key=\n-----BEGIN PRIVATE KEY-----\n{0}",
    "ssl.keystore.type=PEM\nssl.keystore.key=-----BEGIN PRIVATE KEY-----\\\n{0}\\\n-----END PRIVATE KEY-----",
    "config.providers=file\nconfig.providers.file.class={0}",
    "config.providers=env\nconfig.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
    "ssl.key.password=${{env:{0}}}",
    "security.protocl={0}",
    "security.protocol={0}",
    "sasl.mechanism={0}",
    "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={0}",
    "request.timeout.ms={0}",
    "\\u12{0}",
)
"""Files of properties with a secret in a place where none is; {0} is the secret."""


@pytest.mark.parametrize("secret", [MARKER, "MIIEvQIBADANBgkqhunter2hkiG9w0BAQEFAASCBKcwggSj", "hunter2.x", "hunter2"])
def test_hm_7_a_broken_file_of_properties_shows_nothing_of_its_secrets(secret: str, said: Said, tmp_path: Path) -> None:
    found = {}
    for text in BROKEN:
        flag, file = settings_file("properties", text.format(secret), tmp_path)
        answers = [
            said("serve", *ZK, "--listeners", "SASL_PLAINTEXT://127.0.0.1:0", flag, file),
            said("status", *NODES, "--command-config", file, of=reassign.main),
            said(*NODES, "--list", "--command-config", file, of=reassign.main),
        ]
        if secret == MARKER:
            answers += [
                said("serve", *ZK, "--log-level", "DEBUG", flag, file),
                said("watch", *NODES, "--command-config", file),
                said("export", *NODES, "--out", "o", "--command-config", file),
                said(*NODES, "--execute", "--reassignment-json-file", file, of=reassign.main),
                said("serve", *ZK, "--config", file),
            ]
        if any(map(shown, answers)):
            found[text] = answers
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        '"{0}" = 1',
        "{0} = 1",
        '"ssl.key.password" = "{0}',
        'a = """\n{0}',
        '[x]\n"{0}" = 1\n"{0}" = 2',
        "[[cluster]]\n{0}=1",
    ],
)
def test_hm_7_a_broken_toml_file_shows_nothing_of_its_secrets(text: str, said: Said, tmp_path: Path) -> None:
    file = settings_file("toml", text.format("hunter2"), tmp_path)
    for command in ("serve", "watch"):
        assert not shown(said(command, *(ZK if command == "serve" else ()), *file))


@pytest.mark.parametrize("variable", [one.variable for one in SETTINGS if one.variable])
def test_hm_7_no_variable_of_the_environment_repeats_a_secret(
    variable: str, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, MARKER)
    for command in ("serve", "watch"):
        assert not shown(said(command))
