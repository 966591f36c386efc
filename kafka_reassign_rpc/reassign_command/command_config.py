"""--command-config: reads the properties of a Java client, and makes kafka-python's configs of them."""

import re
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed

CLIENT_ID = "reassign-partitions-tool"
DEFAULT_TIMEOUT_MS = 60_000

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
_TEXTS = {
    "client.id": "client_id",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
}
_HANDLED = {"bootstrap.servers", "sasl.jaas.config"}
_LOGIN = re.compile(r"^\s*([\w.$]+)\s+(required|requisite|sufficient|optional)\b(.*?);?\s*$", re.DOTALL)
_LOGIN_OPTION = re.compile(r"""(\w+)\s*=\s*("(?:\\.|[^"\\])*"|[^\s;]+)""")
_PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

Warn = Callable[[str], None]


def client_configs(bootstrap: str, properties: Mapping[str, str], warn: Warn) -> dict[str, Any]:
    """The arguments of kafka.admin.KafkaAdminClient. Raises CommandFailed for a property that this client cannot apply.

    `warn` gets a line for each property that the client does not know, as in the Java client.
    """
    configs: dict[str, Any] = {
        "bootstrap_servers": bootstrap.split(","),
        "client_id": CLIENT_ID,
        "request_timeout_ms": DEFAULT_TIMEOUT_MS,
        "bootstrap_timeout_ms": DEFAULT_TIMEOUT_MS,
    }
    for name, value in properties.items():
        if name in _NUMBERS:
            configs[_NUMBERS[name]] = _number(name, value)
        elif name in _TEXTS:
            configs[_TEXTS[name]] = value
        elif name not in _HANDLED and not name.startswith("ssl."):
            warn(f"The configuration '{name}' was supplied but isn't a known config.")
    if configs.get("sasl_mechanism") in _PASSWORD_MECHANISMS:
        configs |= _login(properties.get("sasl.jaas.config"))
    if configs.get("security_protocol") in ("SSL", "SASL_SSL"):
        configs["ssl_context"] = _ssl_context(properties)
        configs["ssl_check_hostname"] = configs["ssl_context"].check_hostname
    return configs


def _number(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise CommandFailed(f"Invalid value {value} for configuration {name}: Not a number of type INT") from None


def _login(jaas: str | None) -> dict[str, str]:
    found = _LOGIN.match(jaas or "")
    options = {key: _unquoted(value) for key, value in _LOGIN_OPTION.findall(found[3])} if found else {}
    if "username" not in options or "password" not in options:
        raise CommandFailed("sasl.jaas.config has to name a login module with a username and a password")
    return {"sasl_plain_username": options["username"], "sasl_plain_password": options["password"]}


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text


def _ssl_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    for store in ("truststore", "keystore"):
        kind = properties.get(f"ssl.{store}.type", "JKS")
        if f"ssl.{store}.location" in properties and kind.upper() != "PEM":
            raise CommandFailed(f"ssl.{store}.type={kind}: this command reads PEM files only (ssl.{store}.type=PEM)")
    context = ssl.create_default_context()
    try:
        if "ssl.truststore.certificates" in properties:
            context.load_verify_locations(cadata=properties["ssl.truststore.certificates"])
        if "ssl.truststore.location" in properties:
            context.load_verify_locations(cafile=properties["ssl.truststore.location"])
        if "ssl.keystore.location" in properties:
            context.load_cert_chain(properties["ssl.keystore.location"], password=properties.get("ssl.key.password"))
    except (OSError, ssl.SSLError) as error:
        raise CommandFailed(f"The TLS files of --command-config cannot be used: {error}") from None
    if properties.get("ssl.endpoint.identification.algorithm", "https") == "":
        context.check_hostname = False
    return context


def load(path: str) -> dict[str, str]:
    """Read a properties file. Raises CommandFailed.

    The file is UTF-8. Java reads it as ISO 8859-1: for non-ASCII text that both understand use \\uXXXX.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise CommandFailed(f"Unable to read file {path}: {reason}") from None
    return parse(text)


def parse(text: str) -> dict[str, str]:
    """Parse text as java.util.Properties does. Raises CommandFailed for a malformed \\uXXXX, with Java's message."""
    import javaproperties  # here, because most calls of the command read no such file

    try:
        return dict(javaproperties.loads(text))
    except javaproperties.InvalidUEscapeError:
        raise CommandFailed("Malformed \\uxxxx encoding.") from None
