"""The properties of a Java client as configs of ReassignmentClient (AdminClientConfig, SslConfigs, SaslConfigs, Kafka
3.9).
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.config_providers import is_of_providers, resolved
from kafka_reassign_rpc.security.login.client_security import client_security
from kafka_reassign_rpc.security.misspelt_settings import OF_CLIENTS, meant_by
from kafka_reassign_rpc.security.properties import parse_properties
from kafka_reassign_rpc.security.secret_files import named_files, of_settings_file, readable
from kafka_reassign_rpc.support.files import read_bounded
from kafka_reassign_rpc.support.secrecy import told, told_name, told_path

DEFAULT_TIMEOUT_MS = 60_000
MAX_BYTES = 1 << 20

_NUMBERS = {
    "request.timeout.ms": "request_timeout_ms",
    "default.api.timeout.ms": "bootstrap_timeout_ms",
    "reconnect.backoff.ms": "reconnect_backoff_ms",
    "reconnect.backoff.max.ms": "reconnect_backoff_max_ms",
    "retry.backoff.ms": "retry_backoff_ms",
    "connections.max.idle.ms": "connections_max_idle_ms",
    "metadata.max.age.ms": "metadata_max_age_ms",
    "receive.buffer.bytes": "receive_buffer_bytes",
    "send.buffer.bytes": "send_buffer_bytes",
}
_TEXTS = {"client.id": "client_id"}
_HANDLED = {"bootstrap.servers", *OF_CLIENTS}
"""Those of security belong to the security protocol; names of Java classes have no meaning here."""

Warn = Callable[[str], None]


def client_configs(bootstrap: str, properties: Mapping[str, str], warn: Warn = lambda _: None) -> dict[str, Any]:
    """The arguments of ReassignmentClient. Reads the keystores. `warn` gets a line for each unknown property, as in the
    Java client.

    Raises BadSetting (a ValueError) for a property that this client cannot apply, and for a misspelt security setting:
    the Java client goes on without it, with `security.protcol` in plain text.
    """
    configs: dict[str, Any] = {
        "bootstrap_servers": bootstrap.split(","),
        "request_timeout_ms": DEFAULT_TIMEOUT_MS,
        "bootstrap_timeout_ms": DEFAULT_TIMEOUT_MS,
    }
    for name, value in properties.items():
        if name in _NUMBERS:
            configs[_NUMBERS[name]] = _number(name, value)
        elif name in _TEXTS:
            configs[_TEXTS[name]] = value
        elif name not in _HANDLED:
            if meant := meant_by(name, OF_CLIENTS):
                raise BadSetting(
                    f"{told_name(name)}: no client knows it; is {meant} meant? A slip there can send secrets in the"
                    " clear"
                )
            warn(f"The configuration '{told_name(name)}' was supplied but isn't a known config.")
    return configs | _security(properties)


def _security(properties: Mapping[str, str]) -> dict[str, Any]:
    found = client_security(properties)
    configs: dict[str, Any] = {"security_protocol": found.protocol}
    if found.tls is not None:
        configs["ssl_context"] = found.tls.load_client().context
        configs["ssl_check_hostname"] = found.tls.checks_host
    if found.login is not None:
        configs |= found.login.configs
    return configs


def _number(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise BadSetting(f"Invalid value {told(value)} for configuration {name}: Not a number of type INT") from None


def load_properties(path: str, warn: Warn = lambda _: None) -> dict[str, str]:
    r"""Returns also what `config.providers` adds. Raises BadSetting.

    `warn` gets a line for each file with secrets that others may read. The file is UTF-8, but Java reads ISO 8859-1:
    for non-ASCII text that both understand use \\uXXXX.
    """
    try:
        text = read_bounded(Path(path), MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise BadSetting(f"Unable to read file {told_path(path)}: {reason}") from None
    found = parse_properties(text)
    try:
        values = resolved({name: value for name, value in found.items() if not is_of_providers(name)}, found)
    except BadSetting as error:
        raise BadSetting(f"{path}: {error}") from None
    for one in readable([*of_settings_file(path, "--command-config", found), *named_files(values)]):
        warn(str(one))
    return values
