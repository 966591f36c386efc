"""The files with secrets that a server's settings name: the files of settings themselves, and what they point to."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from kafka_reassign_rpc.cli.http_settings import USERS_FILE
from kafka_reassign_rpc.cli.kafka_config import read_properties
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.cli.settings_reader import read_toml
from kafka_reassign_rpc.security.secret_files import SecretFile, named_files, of_settings_file


def secret_files(arguments: argparse.Namespace, values: Mapping[str, Any]) -> Iterator[SecretFile]:
    """The files, by the flags --config and --kafka-config and the values that were read from them. Raises UsageError
    where one of the two is gone meanwhile."""
    if arguments.config:
        yield from of_settings_file(arguments.config, "--config", read_toml(arguments.config))
    if arguments.kafka_config:
        yield from of_settings_file(arguments.kafka_config, "--kafka-config", read_properties(arguments.kafka_config))
    yield from named_files({**security_properties(values), USERS_FILE: values[USERS_FILE]})
