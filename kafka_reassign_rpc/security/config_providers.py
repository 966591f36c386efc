"""`config.providers`: values kept elsewhere, as `${provider:[path:]key}` in a properties file (KIP-297, KIP-421).

A variable of a provider that is not configured stays as it is, as in Kafka. One that has no value, or lies outside of
`allowed.paths`, is refused: Kafka takes its text for the value, and a login fails later. Source: ConfigTransformer,
AbstractConfig.instantiateConfigProviders, FileConfigProvider, DirectoryConfigProvider, EnvVarConfigProvider,
AllowedPaths (Kafka 3.9).
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kafka_reassign_rpc.security.properties import BadSetting, parse_properties
from kafka_reassign_rpc.security.tls.java_patterns import java_pattern
from kafka_reassign_rpc.support.files import read_bounded
from kafka_reassign_rpc.support.secrecy import told_key, told_name, told_path

PROVIDERS = "config.providers"
MOST_BYTES = 1 << 20
"""In bytes: a file with values, and all values of one file of settings together."""
_PACKAGE = "org.apache.kafka.common.config.provider."
_FILE_PROVIDER = f"{_PACKAGE}FileConfigProvider"
_DIRECTORY_PROVIDER = f"{_PACKAGE}DirectoryConfigProvider"
_ANY_NAME = re.compile(".*", re.DOTALL)

Lookup = Callable[[str, str], str | None]
"""Returns the value by path and key. Raises BadSetting with the reason, which holds no value."""


class _Variable(NamedTuple):
    start: int
    end: int
    provider: str
    path: str
    key: str


def resolved(values: Mapping[str, str], properties: Mapping[str, str]) -> dict[str, str]:
    """By the providers that `properties` (the whole file) configures. Reads files, once. Raises BadSetting."""
    providers = _providers(properties)
    if not providers:
        return dict(values)
    found, size = {}, 0
    for name, value in values.items():
        try:
            found[name] = _replaced(value, providers, MOST_BYTES - size)
        except BadSetting as error:
            raise BadSetting(f"{told_name(name)}: {error}") from None
        size += len(found[name])
    return found


def is_of_providers(name: str) -> bool:
    return name == PROVIDERS or name.startswith(f"{PROVIDERS}.")


def files_of_providers(values: Mapping[str, str], properties: Mapping[str, str]) -> list[Path]:
    """The files from which `resolved` would read values, each once. Reads nothing."""
    found: dict[Path, None] = {}
    for value in values.values():
        for variable in _variables(value):
            kind = properties.get(f"{PROVIDERS}.{variable.provider}.class", "").strip()
            if variable.path and kind == _FILE_PROVIDER:
                found[Path(variable.path)] = None
            elif variable.path and kind == _DIRECTORY_PROVIDER:
                found[Path(variable.path) / variable.key] = None
    return list(found)


def without_variables(value: str) -> str:
    out, at = [], 0
    for variable in _variables(value):
        out.append(value[at : variable.start])
        at = variable.end
    return "".join((*out, value[at:]))


def _replaced(value: str, providers: Mapping[str, Lookup], most: int) -> str:
    out, at, size = [], 0, len(value)
    for variable in _variables(value):
        lookup = providers.get(variable.provider)
        if lookup is None:
            continue
        length, place = variable.end - variable.start, _told(variable)
        try:
            new = lookup(variable.path, variable.key)
        except BadSetting as error:
            raise BadSetting(f"{place}: {error}") from None
        if new is None:
            raise BadSetting(f"{place} has no value")
        size += len(new) - length
        if size > most:
            raise BadSetting(f"all values together have more than {MOST_BYTES} characters")
        out += [value[at : variable.start], new]
        at = variable.end
    return "".join((*out, value[at:]))


def _told(variable: _Variable) -> str:
    path = f"{told_path(variable.path)}:" if variable.path else ""
    return f"${{{variable.provider}:{path}{told_key(variable.key)}}}"


def _variables(value: str) -> Iterator[_Variable]:
    r"""What `\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}` matches, in one pass."""
    start = value.find("${")
    while start >= 0:
        end = value.find("}", start)
        if end < 0:
            return
        provider, *rest = value[start + 2 : end].split(":", 2)
        if rest:
            yield _Variable(start, end + 1, provider, rest[0] if len(rest) == 2 else "", rest[-1])
            start = value.find("${", end)
        else:
            start = value.find("${", start + 2)


def _providers(properties: Mapping[str, str]) -> dict[str, Lookup]:
    """As in Kafka, one without a class does not exist."""
    found = {}
    for name in filter(None, map(str.strip, properties.get(PROVIDERS, "").split(","))):
        setting = f"{PROVIDERS}.{name}.class"
        known = properties.get(setting)
        if known is None:
            continue
        make = _CLASSES.get(known.strip())
        if make is None:
            raise BadSetting(f"{setting}: expected one of {', '.join(_CLASSES)}: this program runs no Java classes")
        prefix = f"{PROVIDERS}.{name}.param."
        try:
            found[name] = make(properties, prefix)
        except BadSetting as error:
            raise BadSetting(f"{prefix}{error}") from None
    return found


# ---------------------------------------------------------------------------------------------------- providers


def _file_provider(properties: Mapping[str, str], prefix: str) -> Lookup:
    allowed = _allowed_paths(properties, prefix)
    read: dict[str, Mapping[str, str]] = {}

    def lookup(path: str, key: str) -> str | None:
        if not path:
            return None
        if path not in read:
            read[path] = parse_properties(_text_of(_checked(path, allowed)))
        return read[path].get(key)

    return lookup


def _directory_provider(properties: Mapping[str, str], prefix: str) -> Lookup:
    allowed = _allowed_paths(properties, prefix)

    def lookup(path: str, key: str) -> str | None:
        if not path:
            return None
        file = _checked(path, allowed) / key
        return _text_of(file) if "/" not in key and file.is_file() else None

    return lookup


def _environment_provider(properties: Mapping[str, str], prefix: str) -> Lookup:
    pattern = properties.get(f"{prefix}allowlist.pattern")
    try:
        allowed = _ANY_NAME if pattern is None else java_pattern(pattern)
    except ValueError as error:
        raise BadSetting(f"allowlist.pattern: {error}") from None

    def lookup(path: str, key: str) -> str | None:
        if path:
            raise BadSetting("an environment variable has no path")
        if not allowed.fullmatch(key):
            raise BadSetting(f"{prefix}allowlist.pattern does not allow it")
        return os.environ.get(key)

    return lookup


_CLASSES: Mapping[str, Callable[[Mapping[str, str], str], Lookup]] = {
    _FILE_PROVIDER: _file_provider,
    _DIRECTORY_PROVIDER: _directory_provider,
    f"{_PACKAGE}EnvVarConfigProvider": _environment_provider,
}


def _allowed_paths(properties: Mapping[str, str], prefix: str) -> tuple[Path, ...] | None:
    given = properties.get(f"{prefix}allowed.paths")
    if not given:
        return None
    paths = [Path(os.path.normpath(part)) for part in given.split(",")]
    for path in paths:
        if not path.is_absolute():
            raise BadSetting(f"allowed.paths: {told_path(path)} is not absolute")
        if not path.exists():
            raise BadSetting(f"allowed.paths: {told_path(path)} does not exist")
    return tuple(paths)


def _checked(path: str, allowed: tuple[Path, ...] | None) -> Path:
    if allowed is None:
        return Path(path)
    normal = Path(os.path.normpath(path))
    if not any(normal.is_relative_to(one) for one in allowed):
        raise BadSetting("allowed.paths does not allow it")
    return normal


def _text_of(file: Path) -> str:
    try:
        return read_bounded(file, MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(
            f"cannot read {told_path(file)}: {getattr(error, 'strerror', None) or 'it is not UTF-8'}"
        ) from None
