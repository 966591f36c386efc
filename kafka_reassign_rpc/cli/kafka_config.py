"""`--kafka-config FILE`: what a broker's server.properties says that concerns this server as well."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import javaproperties

from kafka_reassign_rpc.cli.usage_error import UsageError

LARGEST_FILE = 2**20
LISTENER_PREFIX = "listener.name."
JAVA_ALONE = (
    "principal.builder.class",
    "security.providers",
    "ssl.engine.factory.class",
    "ssl.provider",
)
"""Settings that change how brokers secure connections by running Java classes. This server cannot."""


class KafkaConfig(NamedTuple):
    """The settings that are taken from the file, by name, and the names of all others."""

    taken: Mapping[str, str]
    left: tuple[str, ...]


def read_kafka_config(path: str, wanted: Iterable[str], of_listeners: Iterable[str]) -> KafkaConfig:
    """Reads a server.properties. Raises UsageError.

    wanted         the names that are taken
    of_listeners   the names that may stand behind `listener.name.<listener>.`
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise UsageError(f"--kafka-config: {path} has more than {LARGEST_FILE} bytes")
        found = javaproperties.loads(data.decode("latin-1"))
    except OSError as error:
        raise UsageError(f"--kafka-config: cannot read {path}: {error.strerror}") from None
    except javaproperties.InvalidUEscapeError:
        raise UsageError(f"--kafka-config: {path}: malformed \\uxxxx encoding") from None
    names, below = frozenset(wanted), frozenset(of_listeners)
    taken = {name: value for name, value in found.items() if name in names or is_of_listener(name, below)}
    return KafkaConfig(taken, tuple(name for name in found if name not in taken))


def is_of_listener(name: str, of_listeners: Iterable[str]) -> bool:
    """Whether a name is `listener.name.<listener>.<setting>` or `listener.name.<listener>.<mechanism>.<setting>` of one
    of these settings."""
    return setting_of_listener(name, of_listeners) is not None


def setting_of_listener(name: str, of_listeners: Iterable[str]) -> str | None:
    """The setting behind the prefix of a listener, or None."""
    if not name.startswith(LISTENER_PREFIX):
        return None
    known = frozenset(of_listeners)
    _, _, setting = name.removeprefix(LISTENER_PREFIX).partition(".")
    if setting in known:
        return setting
    _, _, setting = setting.partition(".")
    return setting if setting in known else None
