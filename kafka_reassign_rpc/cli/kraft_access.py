"""How `serve`, `check`, `status` and `leave` reach a cluster in KRaft mode: --bootstrap-server and --command-config."""

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.client import client_configs, load_properties
from kafka_reassign_rpc.client.client_settings import ClientSettings, client_settings
from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.login.client_security import client_security
from kafka_reassign_rpc.security.tls.reloaded_context import ReloadedContext
from kafka_reassign_rpc.transport.broker_links import BrokerLinks

log = logging.getLogger(__name__)

PATIENCE_MS = 10_000
"""How long the cluster may take to answer, unless command.config says otherwise."""


class Reached(NamedTuple):
    """How a program reaches the cluster: configs of the client, the same as settings, and links to single brokers."""

    configs: Mapping[str, Any]
    settings: ClientSettings
    links: BrokerLinks

    @property
    def protocol(self) -> str:
        return self.settings.configs.security_protocol

    def of_controllers(self, addresses: str | None) -> Mapping[str, Any] | None:
        """Configs of a client of the controllers at these addresses, with commas in between; None: none are given."""
        if not addresses:
            return None
        rest = {name: value for name, value in self.configs.items() if name != "bootstrap_servers"}
        return {**rest, "bootstrap_controllers": addresses.split(",")}


def reached(bootstrap: str, command_config: str | None, client_id: str, milliseconds: int = PATIENCE_MS) -> Reached:
    """Reads keystores. Raises UsageError."""
    try:
        return reached_by(bootstrap, patient_properties(command_config, milliseconds), client_id)
    except BadSetting as error:
        raise UsageError(str(error)) from None


def patient_properties(command_config: str | None, milliseconds: int = PATIENCE_MS) -> dict[str, str]:
    """Those of the file, if there is one. Raises BadSetting."""
    patience = {"request.timeout.ms": str(milliseconds), "default.api.timeout.ms": str(milliseconds)}
    return {**patience, **(load_properties(command_config, warn) if command_config else {})}


def reached_by(bootstrap: str, properties: Mapping[str, str], client_id: str) -> Reached:
    """Reads keystores. Raises BadSetting."""
    security = client_security(properties)
    configs = {"client_id": client_id, **client_configs(bootstrap, properties, warn)}
    settings = client_settings(configs)
    tls = None
    if security.tls is not None:
        tls = ReloadedContext("brokers", security.tls.load_client, security.tls.files)
    return Reached(configs, settings, BrokerLinks(None, security.protocol, tls, security.login))


def warn(text: str) -> None:
    log.warning("%s", text)
