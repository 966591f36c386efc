"""`--kafka-config FILE`: what a broker's server.properties says that concerns this server as well."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from kafka_reassign_rpc.cli.security_names import listeners_of, mechanisms_of
from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.security.config_providers import is_of_providers, resolved
from kafka_reassign_rpc.security.properties import LISTENER_PREFIX, BadSetting, parse_properties
from kafka_reassign_rpc.security.secret_files import SecretFile, of_settings_file
from kafka_reassign_rpc.support.files import read_bounded
from kafka_reassign_rpc.support.secrecy import told_path

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
