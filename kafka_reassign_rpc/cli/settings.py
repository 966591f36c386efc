"""Settings of the server: Kafka's names where Kafka has one, from one TOML file, each also a flag.

`socket.request.max.bytes` is written so in the file (quoted, or as a dotted TOML key) and is
`--socket-request-max-bytes` on the command line. A flag wins over the file.
"""

import argparse
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.zookeeper.connect_string import parse_connect_string


class Setting(NamedTuple):
    """One setting. `parse` turns text (or the TOML value) into the value, raising ValueError with the reason."""

    name: str
    parse: Callable[[Any], Any]
    default: Any
    help: str

    @property
    def key(self) -> str:
        return self.name.replace(".", "_")

    @property
    def flag(self) -> str:
        return "--" + self.name.replace(".", "-")


def whole(low: int, high: int = 2**63 - 1) -> Callable[[Any], int]:
    """A parser of whole numbers from `low` to `high`."""

    def parse(value: Any) -> int:
        try:
            number = int(value)
        except (TypeError, ValueError):
            raise ValueError(f"expected a whole number, got {value!r}") from None
        if not low <= number <= high or isinstance(value, float | bool):
            raise ValueError(f"expected a whole number from {low} to {high}, got {value!r}")
        return number

    return parse


def text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"expected text, got {value!r}")
    return value.strip()


def maybe_empty(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, got {value!r}")  # noqa: TRY004 (as every parser here)
    return value.strip()


def zookeeper_connect(value: Any) -> str:
    """Checked for its form; the string itself is what the client takes."""
    given = text(value)
    parse_connect_string(given)
    return given


def one_of(*choices: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}, got {value!r}")
        return str(value)

    return parse


def flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise ValueError(f"expected true or false, got {value!r}")


def add_flags(parser: argparse.ArgumentParser, settings: Iterable[Setting]) -> None:
    """`--config FILE` and one flag per setting."""
    parser.add_argument("--config", metavar="FILE", help="TOML file with the settings below, by their dotted names")
    for setting in settings:
        default = "none" if setting.default is None else setting.default
        parser.add_argument(
            setting.flag,
            dest=setting.key,
            metavar="VALUE",
            help=f"{setting.name}: {setting.help} (default: {default})".replace("%", "%%"),
        )


def read(arguments: argparse.Namespace, settings: Iterable[Setting]) -> dict[str, Any]:
    """The value of every setting by its dotted name. Raises UsageError naming the flag or the file's key."""
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
