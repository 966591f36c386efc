"""The files with secrets that a server's settings name: the files of settings themselves, and what they point to."""

from collections.abc import Iterator, Mapping
from typing import Any

from kafka_reassign_rpc.cli.http_settings import USERS_FILE
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.cli.settings_reader import SECRET_FILES
from kafka_reassign_rpc.security.secret_files import WEBHOOK_SECRET, SecretFile, named_files


def secret_files(values: Mapping[str, Any]) -> Iterator[SecretFile]:
    """Takes the values that were read from --config and --kafka-config."""
    yield from values[SECRET_FILES]
    own = {name: values[name] for name in (USERS_FILE, WEBHOOK_SECRET)}
    yield from named_files({**security_properties(values), **own})
