"""Reads settings from the command line and from a TOML file.

Each setting has one dotted name, Kafka's where Kafka has the setting. `socket.request.max.bytes` is the flag
`--socket-request-max-bytes` and the key `"socket.request.max.bytes"` of the file (quoted, or as a dotted TOML key).
A flag wins over the file. The settings of the server stand in `server_settings.py`.
"""

import argparse
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kafka_reassign_rpc.cli.usage_error import UsageError


class Setting(NamedTuple):
    """One setting.

    name           the dotted name
    parse          turns the flag's text, or the file's value, into the value; raises ValueError with the reason
    default        the value where neither the flag nor the file gives one
    help           the meaning, with the unit and the meaning of special values such as -1
    dynamic        whether the cluster's dynamic config of this name takes precedence over the setting
    group          the heading under which `--help` and the documentation list it
    metavar        what `--help` shows in place of the value
    default_words  the default for people, where `default` itself does not say it
    """

    name: str
    parse: Callable[[Any], Any]
    default: Any
    help: str
    dynamic: bool = False
    group: str = ""
    metavar: str = "VALUE"
    default_words: str = ""

    @property
    def key(self) -> str:
        """The attribute of the parsed command line."""
        return self.name.replace(".", "_")

    @property
    def flag(self) -> str:
        return "--" + self.name.replace(".", "-")

    @property
    def default_text(self) -> str:
        """The default as a reader of `--help` or the documentation understands it."""
        if self.default_words:
            return self.default_words
        if isinstance(self.default, bool):
            return "true" if self.default else "false"
        return "not set" if self.default is None else str(self.default)


def add_flags(parser: argparse.ArgumentParser, settings: Iterable[Setting]) -> None:
    """Add `--config FILE` and one flag for each setting, group by group."""
    parser.add_argument("--config", metavar="FILE", help="a TOML file with settings by their dotted names")
    groups: dict[str, argparse._ArgumentGroup] = {}
    for setting in settings:
        if setting.group not in groups:
            groups[setting.group] = parser.add_argument_group(setting.group)
        dynamic = "; dynamic" if setting.dynamic else ""
        groups[setting.group].add_argument(
            setting.flag,
            dest=setting.key,
            metavar=setting.metavar,
            help=f"{setting.help} (default: {setting.default_text}{dynamic})".replace("%", "%%"),
        )


def read_settings(arguments: argparse.Namespace, settings: Iterable[Setting]) -> dict[str, Any]:
    """The value of every setting by its dotted name. Raises UsageError, which names the flag or the file's key."""
    known = {setting.name: setting for setting in settings}
    from_file = _read_file(arguments.config) if arguments.config else {}
    for name in from_file:
        if name not in known:
            raise UsageError(f"{arguments.config}: unknown setting {name!r}")
    values: dict[str, Any] = {}
    for name, setting in known.items():
        given = getattr(arguments, setting.key, None)
        place = setting.flag if given is not None else f"{arguments.config}: {name}"
        if given is None:
            given = from_file.get(name)
        if given is None:
            values[name] = setting.default
            continue
        try:
            values[name] = setting.parse(given)
        except ValueError as error:
            raise UsageError(f"{place}: {error}") from None
    return values


def _read_file(path: str) -> dict[str, Any]:
    try:
        with Path(path).open("rb") as file:
            return dict(_flatten(tomllib.load(file)))
    except OSError as error:
        raise UsageError(f"--config: cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--config: {path} is not TOML: {error}") from None


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
