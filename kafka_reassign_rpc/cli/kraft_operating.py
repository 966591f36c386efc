"""`check`, `status` and `leave` where the cluster is in KRaft mode: --bootstrap-server in place of ZooKeeper."""

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka_reassign_rpc.cli.kraft_serving import PATIENCE_MS
from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.client import client_configs, load_properties
from kafka_reassign_rpc.client.client_settings import ClientSettings, client_settings
from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.login.client_security import client_security
from kafka_reassign_rpc.security.tls.reloaded_context import ReloadedContext
from kafka_reassign_rpc.transport.broker_links import BrokerLinks

log = logging.getLogger(__name__)


class Reached(NamedTuple):
    """How a command reaches the cluster: configs of the client, the same as settings, and links to single brokers."""

    configs: Mapping[str, Any]
    settings: ClientSettings
    links: BrokerLinks


def reached(bootstrap: str, command_config: str | None, client_id: str, milliseconds: int = PATIENCE_MS) -> Reached:
    """Reads keystores. Raises UsageError."""
    try:
        patience = {"request.timeout.ms": str(milliseconds), "default.api.timeout.ms": str(milliseconds)}
        properties = {**patience, **(load_properties(command_config, _warn) if command_config else {})}
        configs = {"client_id": client_id, **client_configs(bootstrap, properties, _warn)}
        security = client_security(properties)
        tls = None
        if security.tls is not None:
            tls = ReloadedContext("brokers", security.tls.load_client, security.tls.files)
        return Reached(configs, client_settings(configs), BrokerLinks(None, security.protocol, tls, security.login))
    except BadSetting as error:
        raise UsageError(str(error)) from None


def _warn(text: str) -> None:
    log.warning("%s", text)
