"""The files with secrets that settings name, and what to say if others may read them.

Keys, keytabs, passwords (also their hashes) and tokens are secret; certificates and truststores are not. A file of
settings counts if it holds a secret itself. Source of the names: Kafka's settings of type PASSWORD.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kafka_reassign_rpc.security.config_providers import files_of_providers, is_of_providers, without_variables
from kafka_reassign_rpc.security.login import jaas
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.support.files import readers_of

_SECRET = re.compile(r"(?:^|\.)(?:password|secret|secret\.key|master\.key|keystore\.key|jaas\.config)$", re.IGNORECASE)
_JAAS = "jaas.config"
WEBHOOK_SECRET = "webhook.secret.file"  # noqa: S105 (the name of a setting)
_NAMES_A_FILE = ("ssl.keystore.location", "plain.users.file", "metrics.users.file", WEBHOOK_SECRET)
_NAMES_A_TOKEN = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 (the name of a setting)
_OPTION = re.compile(r"password|secret|^user_", re.IGNORECASE)
"""Options of login modules that are secrets: password, user_NAME of PlainLoginModule, clientSecret."""
_KEYTAB = "keyTab"


class SecretFile(NamedTuple):
    """`named_by`: the setting, or the flag."""

    path: Path
    named_by: str


class ReadableSecret(NamedTuple):
    file: SecretFile
    who: str
    advice: str

    @property
    def problem(self) -> str:
        whose = f"{self.file.path} ({self.file.named_by})"
        return f"{self.who} on this machine may read the secrets in {whose}, and use them"

    def __str__(self) -> str:
        return f"{self.problem}: {self.advice}"


def holds_secret(properties: Mapping[str, object]) -> bool:
    return any(_is_secret(name, value) for name, value in properties.items())


def named_files(properties: Mapping[str, object]) -> Iterator[SecretFile]:
    """Listeners' settings count too. Reads the file of logins."""
    for name, value in properties.items():
        if not isinstance(value, str) or not value.strip():
            continue
        text = value.strip()
        if name.endswith(_NAMES_A_FILE):
            yield SecretFile(Path(text), name)
        elif name.endswith(_NAMES_A_TOKEN) and text.lower().startswith("file:"):
            yield SecretFile(Path("/" + text[len("file:") :].lstrip("/")), name)
        elif name.endswith(_JAAS):
            yield from _keytabs(_entries_of(text), name)
        elif name == jaas.JAAS_FILE:
            yield from _logins(text)


def of_settings_file(path: str, named_by: str, properties: Mapping[str, object]) -> Iterator[SecretFile]:
    """This file, if it holds a secret, and those from which `config.providers` brings values."""
    if holds_secret(properties):
        yield SecretFile(Path(path), named_by)
    texts = {name: value for name, value in properties.items() if isinstance(value, str)}
    values = {name: value for name, value in texts.items() if not is_of_providers(name)}
    for file in files_of_providers(values, texts):
        yield SecretFile(file, "config.providers")


def readable(files: Iterable[SecretFile]) -> list[ReadableSecret]:
    """The files that others may read, each once, without missing ones."""
    first: dict[Path, SecretFile] = {}
    for file in files:
        first.setdefault(file.path, file)
    found = [(file, readers_of(file.path)) for file in first.values()]
    return [ReadableSecret(file, *readers) for file, readers in found if readers is not None]


def _is_secret(name: str, value: object) -> bool:
    if not _SECRET.search(name) or not isinstance(value, str):
        return False
    text = value.strip()
    if name.lower().endswith(_JAAS):
        entries = _entries_of(text)
        return bool(text) and (entries is None or any(map(_has_password, entries)))
    return bool(without_variables(text))


def _has_password(entry: jaas.JaasEntry) -> bool:
    return any(_OPTION.search(name) and without_variables(value) for name, value in entry.options.items())


def _entries_of(text: str) -> list[jaas.JaasEntry] | None:
    """None if the text is no login configuration: what it holds is not known."""
    try:
        return [jaas.parse_entry(text, _JAAS)]
    except BadSetting:
        return None


def _keytabs(entries: Iterable[jaas.JaasEntry] | None, named_by: str) -> Iterator[SecretFile]:
    for entry in entries or ():
        path = entry.option(_KEYTAB)
        if path is not None:
            yield SecretFile(Path(path.removeprefix("FILE:").removeprefix("file://")), f"{_KEYTAB} in {named_by}")


def _logins(path: str) -> Iterator[SecretFile]:
    try:
        sections = jaas.read_file(path, jaas.JAAS_FILE)
    except BadSetting:  # the code that needs it says so
        return
    entries = [entry for section in sections.values() for entry in section]
    if any(map(_has_password, entries)):
        yield SecretFile(Path(path), jaas.JAAS_FILE)
    yield from _keytabs(entries, jaas.JAAS_FILE)
