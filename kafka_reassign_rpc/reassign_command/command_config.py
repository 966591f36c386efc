"""--command-config: the properties of a Java client. Errors are those of the command."""

from collections.abc import Mapping
from typing import Any

from kafka_reassign_rpc.client import client_properties
from kafka_reassign_rpc.client.client_properties import Warn
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed
from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.properties import parse_properties

CLIENT_ID = "reassign-partitions-tool"


def client_configs(bootstrap: str, properties: Mapping[str, str], warn: Warn) -> dict[str, Any]:
    """Raises CommandFailed for a property that this client cannot apply."""
    try:
        return {"client_id": CLIENT_ID, **client_properties.client_configs(bootstrap, properties, warn)}
    except BadSetting as error:
        raise CommandFailed(str(error)) from None


def load(path: str, warn: Warn = lambda _: None) -> dict[str, str]:
    try:
        return client_properties.load_properties(path, warn)
    except BadSetting as error:
        raise CommandFailed(str(error)) from None


def parse(text: str) -> dict[str, str]:
    r"""Parses as java.util.Properties does. Raises CommandFailed for a malformed \uXXXX, with Java's message."""
    try:
        return parse_properties(text)
    except BadSetting as error:
        raise CommandFailed(str(error)) from None
