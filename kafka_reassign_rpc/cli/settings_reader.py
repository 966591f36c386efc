"""Reads settings from the command line, from a TOML file, and from a broker's server.properties.

Each setting has one dotted name, Kafka's where Kafka has the setting. `socket.request.max.bytes` is the flag
`--socket-request-max-bytes` and the key `"socket.request.max.bytes"` of the file (quoted, or as a dotted TOML key).
A flag wins over the environment variable that a few settings have, that over the file, and the file over
server.properties (`--kafka-config`), of which only what concerns this server is taken. A secret has no flag. A file may
also say `listener.name.<listener>.<setting>`. A blank is a value: for a setting of Kafka what Kafka makes of it
(`security/properties.py`), for others what its parser does. The settings of the server are in `server_settings.py`.
Sizes and durations may have a unit: 500MiB, 20s.

"""

import argparse
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kafka_reassign_rpc.cli.security_names import (
    OTHER_NAMES,
    Surroundings,
    listeners_of,
    mechanisms_of,
    similar,
    unused,
)
from kafka_reassign_rpc.cli.value_parsers import OneOf, password, text, true_or_false
from kafka_reassign_rpc.core.config_values import INT64
from kafka_reassign_rpc.core.configs.config_definitions import BROKER_CONFIGS
from kafka_reassign_rpc.security.config_providers import is_of_providers, resolved
from kafka_reassign_rpc.security.properties import (
    LISTENER_PREFIX,
    REFUSED,
    TAKE_BLANKS,
    BadSetting,
    Password,
    is_blank,
    parse_properties,
    refuse_cut_keys,
)
from kafka_reassign_rpc.security.secret_files import SecretFile, of_settings_file
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.counted import first_of
from kafka_reassign_rpc.support.files import read_bounded
from kafka_reassign_rpc.support.human_units import parse_duration_ms, parse_size
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.support.secrecy import told_name, told_path

LARGEST_FILE = 2**20
JAVA_ALONE = (
    "principal.builder.class",
    "security.providers",
    "ssl.engine.factory.class",
    "ssl.provider",
)
"""Settings that change how brokers secure connections by running Java classes. This server cannot."""


class KafkaConfig(NamedTuple):
    """left         the names of settings that are not taken
    listeners    the names of the broker's listeners, in small letters
    mechanisms   those that the broker enables, in small letters
    is_whole     it says which listeners the broker has
    secret_files the file itself where it holds secrets, and those with values that it takes from elsewhere
    """

    taken: Mapping[str, str] = {}
    left: tuple[str, ...] = ()
    listeners: Collection[str] = ()
    mechanisms: Collection[str] = ()
    is_whole: bool = False
    secret_files: tuple[SecretFile, ...] = ()


def read_kafka_config(path: str, wanted: Iterable[str], of_listeners: Iterable[str]) -> KafkaConfig:
    """Reads a server.properties, and what `config.providers` brings into it. Raises UsageError.

    wanted         the names that are taken
    of_listeners   the names that may follow `listener.name.<listener>.`
    """
    try:
        data = read_bounded(Path(path), LARGEST_FILE)
        found = parse_properties(data.decode("latin-1"))
    except OSError as error:
        raise UsageError(f"--kafka-config: cannot read {told_path(path)}: {error.strerror}") from None
    except BadSetting as error:
        raise UsageError(f"--kafka-config: {path}: {error}") from None
    names, below = frozenset(wanted), frozenset(of_listeners)
    taken = {name: value for name, value in found.items() if name in names or setting_of_listener(name, below)}
    left = tuple(name for name in found if name not in taken and not is_of_providers(name))
    try:
        return KafkaConfig(
            resolved(taken, found),
            left,
            listeners_of(found),
            mechanisms_of(found),
            "listeners" in found,
            tuple(of_settings_file(path, "--kafka-config", found)),
        )
    except BadSetting as error:
        raise UsageError(f"--kafka-config: {path}: {error}") from None


def setting_of_listener(name: str, of_listeners: Iterable[str]) -> str | None:
    """Where the name is `listener.name.<listener>.<setting>` or `listener.name.<listener>.<mechanism>.<setting>`."""
    if not name.startswith(LISTENER_PREFIX):
        return None
    known = frozenset(of_listeners)
    _, _, setting = name.removeprefix(LISTENER_PREFIX).partition(".")
    if setting in known:
        return setting
    _, _, setting = setting.partition(".")
    return setting if setting in known else None


LEFT_OUT = "names left out of kafka.config"
"""The key of the names in `--kafka-config` that are of no use to this server, in the order of the file."""
SECRET_FILES = "files with secrets"  # noqa: S105 (a key)
"""The key of the files of settings that hold secrets, and of those that their `config.providers` name."""
OF_BROKER = "settings of kafka.config"
"""The key of the settings in `--kafka-config` that are taken, as texts, also where a flag or `--config` overrides them
for this server: they are a broker's. They may be secret."""
GIVEN = "settings that were given"
"""The key of the names that a flag or `--config` gives. Variables of the environment are defaults, of many commands."""
LISTENERS_APART = ("metrics",)
"""Listeners that have settings of their own and are none of `listeners`."""
_SHOWN_NAMES = 10

_SIZES = (".bytes", ".bytes.in.flight")
_DURATIONS = (".ms", ".seconds")
"""The ends of names of settings that are sizes or durations, and take them with a unit."""


_UNITS = {"ms": "MS", "seconds": "SECONDS", "bytes": "BYTES"}
"""By the end of a setting's name."""


class Setting(NamedTuple):
    """name           the dotted name
    parse          turns the flag's text, or the file's value, into the value; raises ValueError with the reason
    default        the value where neither the flag nor the file gives one
    help           the meaning, with the unit and the meaning of special values such as -1
    dynamic        what is set of this name for all servers, or for all brokers, takes precedence
    group          the heading under which `--help` and the documentation list it
    metavar        what `--help` shows in place of the value, where neither the parser nor the name's unit says it
    default_words  the default for people, where `default` itself does not say it
    of_kafka       `--kafka-config` gives it
    of_kafka_if    the name of the setting that has to be true for that, if any
    of_listeners   a listener may have its own value
    secret         it has no flag, and never shows
    variable       the environment variable that gives it where no flag does; "": there is none
    is_switch      the flag alone says true
    has_flag       a table of the file has none
    """

    name: str
    parse: Callable[[Any], Any]
    default: Any
    help: str
    dynamic: bool = False
    group: str = ""
    metavar: str = ""
    default_words: str = ""
    of_kafka: bool = False
    of_kafka_if: str = ""
    of_listeners: bool = False
    secret: bool = False
    variable: str = ""
    is_switch: bool = False
    has_flag: bool = True

    @property
    def key(self) -> str:
        return self.name.replace(".", "_")

    @property
    def value_word(self) -> str:
        """What `--help` shows in place of the value."""
        if isinstance(self.parse, OneOf):
            words = "|".join(self.parse.choices)
        elif self.parse is true_or_false:
            words = "true|false"
        else:
            words = _UNITS.get(self.name.rpartition(".")[2], "VALUE")
        return self.metavar or words

    @property
    def flag(self) -> str:
        return "--" + self.name.replace(".", "-")

    @property
    def blank(self) -> Any:
        """What Kafka makes of a blank. Raises ValueError where that is an error."""
        if self.name not in TAKE_BLANKS:
            raise ValueError(REFUSED)
        if self.secret:
            return Password("")
        return "" if self.default is None else self.default

    @property
    def default_text(self) -> str:
        """Readers of `--help` and of the documentation see it."""
        if self.default_words:
            return self.default_words
        if isinstance(self.default, bool):
            return "true" if self.default else "false"
        return "not set" if self.default is None else str(self.default)


def in_group(group: str, *settings: Setting) -> tuple[Setting, ...]:
    return tuple(one._replace(group=group) for one in settings)


def kafka_setting(
    name: str,
    help_: str,
    metavar: str,
    default_words: str,
    parse: Callable[[Any], Any] | None = None,
    *,
    of_kafka: bool = True,
    **more: Any,
) -> Setting:
    """Brokers have it too, unless `of_kafka` is false. It is text, or a password where it is
    secret, unless `parse` says otherwise."""
    parse = parse or (password if more.get("secret") else text)
    return Setting(name, parse, None, help_, metavar=metavar, default_words=default_words, of_kafka=of_kafka, **more)


def add_flags(parser: argparse.ArgumentParser, settings: Iterable[Setting]) -> None:
    parser.add_argument("--config", metavar="FILE", help="a TOML file with settings by their dotted names")
    parser.add_argument(
        "--kafka-config",
        metavar="FILE",
        help="the server.properties of a broker: what it says of ZooKeeper and of security holds for this server too,"
        " unless a flag or --config says otherwise",
    )
    groups: dict[str, argparse._ArgumentGroup] = {}
    for setting in settings:
        if setting.group not in groups:
            groups[setting.group] = parser.add_argument_group(setting.group)
        if setting.secret:
            groups[setting.group].add_argument(setting.flag, action=_SecretFlag, help=argparse.SUPPRESS)
            continue
        if not setting.has_flag:
            continue
        dynamic = "; dynamic" if setting.dynamic else ""
        switch: dict[str, Any] = {"nargs": "?", "const": "true"} if setting.is_switch else {}
        groups[setting.group].add_argument(
            setting.flag,
            dest=setting.key,
            metavar=setting.value_word,
            **switch,
            help=f"{setting.help} (default: {setting.default_text}{dynamic})".replace("%", "%%"),
        )


class _SecretFlag(argparse.Action):
    """Refuses a secret on the command line, and does not repeat it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        flag = self.option_strings[0]
        parser.error(
            f"{flag}: everybody can read a command line; set {flag.removeprefix('--').replace('-', '.')} in the file of"
            " --config or --kafka-config"
        )


def read_settings(arguments: argparse.Namespace, settings: Iterable[Setting]) -> dict[str, Any]:
    """Values by dotted names, with those of single listeners that are set. Raises UsageError, which names the flag or
    the file's key.
    """
    known = {setting.name: setting for setting in settings}
    from_file = _read_toml(arguments.config) if arguments.config else {}
    for name in from_file:
        if name not in known and _of_listener(name, known) is None:
            raise UsageError(f"{arguments.config}: unknown setting {told_name(name)}{similar(name, known)}")
    kafka = (
        read_kafka_config(arguments.kafka_config, _of_kafka(known), _of_listeners(known))
        if arguments.kafka_config
        else KafkaConfig()
    )
    from_kafka = kafka.taken

    def value(name: str, setting: Setting) -> Any:
        flag = getattr(arguments, setting.key, None) if name == setting.name else None
        if flag is not None:
            return _parsed(setting, setting.flag, flag)
        if (said := _of_environment(setting)) is not None:
            return _parsed(setting, setting.variable, said)
        if name in from_file:
            return _parsed(setting, f"{arguments.config}: {name}", from_file[name])
        if name in from_kafka and (not setting.of_kafka_if or value(setting.of_kafka_if, known[setting.of_kafka_if])):
            return _parsed(setting, f"{arguments.kafka_config}: {name}", from_kafka[name])
        return setting.default

    of_one = {name: _of_listener(name, known) for name in (*from_file, *from_kafka) if name not in known}
    found = {name: value(name, setting) for name, setting in {**known, **of_one}.items() if setting is not None}
    own, of_listeners = _of_kafka(known), _of_listeners(known)
    listeners = {*LISTENERS_APART, *kafka.listeners, *(one.listener.lower() for one in found.get("listeners", ()))}
    elsewhere = known.keys() - own - BROKER_CONFIGS.keys()
    around = Surroundings(own, of_listeners, listeners, kafka.mechanisms, kafka.is_whole, elsewhere)
    strangers = unused([name for name in from_file if name not in known], around)
    _refuse(arguments.config, strangers, "write it as it is meant", known)
    stay = found.get(OTHER_NAMES) or ()
    names = [*from_kafka, *kafka.left]
    cure = f"mend it, or say that it may stay: {OTHER_NAMES}"
    _refuse(arguments.kafka_config, unused(names, around, stay), cure, known)
    of_config = of_settings_file(arguments.config, "--config", from_file) if arguments.config else ()
    flags = [one.name for one in known.values() if getattr(arguments, one.key, None) is not None]
    return {
        **found,
        GIVEN: [*from_file, *flags],
        LEFT_OUT: kafka.left,
        SECRET_FILES: (*of_config, *kafka.secret_files),
        OF_BROKER: {name: Password(text) for name, text in from_kafka.items()},
    }


def _of_environment(setting: Setting) -> str | None:
    return os.environ.get(setting.variable) if setting.variable else None


def _refuse(path: str | None, names: Iterable[tuple[str, str]], cure: str, known: Collection[str]) -> None:
    found = [f"{name if name in known else told_name(name)}: {why}" for name, why in names]
    if found:
        shown = first_of(found, _SHOWN_NAMES, between="; ")
        raise UsageError(f"{path}: {shown}: a slip there can let anybody in, so {cure}")


def _of_kafka(known: Mapping[str, Setting]) -> set[str]:
    return {name for name, setting in known.items() if setting.of_kafka}


def _of_listeners(known: Mapping[str, Setting]) -> Collection[str]:
    return [name for name, setting in known.items() if setting.of_listeners]


def _of_listener(name: str, known: Mapping[str, Setting]) -> Setting | None:
    """The setting that the name sets for one listener, or None."""
    found = setting_of_listener(name, _of_listeners(known))
    return None if found is None else known[found]


def _parsed(setting: Setting, place: str, value: Any) -> Any:
    try:
        if setting.of_kafka and is_blank(value):
            return setting.blank
        return setting.parse(_plain_number(setting.name, value))
    except ValueError as error:
        raise UsageError(f"{place}: {error}{_hint(setting.name)}") from None


def _plain_number(name: str, given: Any) -> Any:
    """Converts sizes and durations as people write them; returns anything else as it is."""
    if isinstance(given, str):
        if name.endswith(_SIZES):
            return _or(parse_size(given), given)
        if name.endswith(_DURATIONS):
            ms = None if whole_number(given.strip(), -1, INT64) is not None else parse_duration_ms(given)
            if ms is not None:
                return ms if name.endswith(".ms") else ms / 1000 if ms % 1000 else ms // 1000
    return given


def _or(found: int | None, given: str) -> int | str:
    return given if found is None else found


def _hint(name: str) -> str:
    if name.endswith(_SIZES):
        return "; with a unit: 50MB, 500MiB"
    return "; with a unit: 20s, 5min" if name.endswith(_DURATIONS) else ""


def _read_toml(path: str) -> dict[str, Any]:
    """Uses dotted names. Raises UsageError."""
    try:
        with Path(path).open("rb") as file:
            found = dict(_flatten(tomllib.load(file)))
        refuse_cut_keys(found.items())
    except BadSetting as error:
        raise UsageError(f"--config: {told_path(path)}: {error}") from None
    except OSError as error:
        raise UsageError(f"--config: cannot read {told_path(path)}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # besides TOML's own errors: an integer of thousands of digits
        raise UsageError(f"--config: {told_path(path)} is not TOML{_place_of(error)}") from None
    return found


def _place_of(error: Exception) -> str:
    """Where TOML found it; the text there may be a secret."""
    found = re.search(r"\(at (line \d+, column \d+|end of document)\)", str(error))
    return "" if found is None else f": see {found[1]}"


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
