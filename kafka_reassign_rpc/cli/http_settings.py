"""The pages for monitoring, and who may read them: a part of the server's catalogue."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.cli.listener_settings import refuse_without_effect
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.cli.settings_reader import Setting, in_group
from kafka_reassign_rpc.cli.value_parsers import OneOf, host_and_port, host_names, text
from kafka_reassign_rpc.security.properties import BadSetting, prefix_of
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.server.http_server import HttpSecurity
from kafka_reassign_rpc.server.listener import tls_context
from kafka_reassign_rpc.server.sasl_sources import UsersFile
from kafka_reassign_rpc.support.host_port import Address, host_port
from kafka_reassign_rpc.support.quiet_arguments import UsageError

PROCESS = "files, logs and metrics"
STATUS_PAGE = "status.page"
PROTOCOL = "metrics.security.protocol"
USERS_FILE = "metrics.users.file"
HOST_NAMES = "metrics.host.names"
LISTENER = "METRICS"
"""The name of the listener of these pages: its settings of TLS begin with `listener.name.metrics.`"""
EVERY_ADDRESS = ("0.0.0.0", "::", "")  # noqa: S104 (what listens on all addresses is recognised)

HTTP_SETTINGS = in_group(
    PROCESS,
    Setting(
        "metrics.listener",
        host_and_port,
        None,
        "The address on which the server serves /metrics (Prometheus), /health, /ready and the status page (/) over"
        " HTTP. Port 0 picks a free port.",
        metavar="HOST:PORT",
        default_words="not served",
    ),
    Setting(
        PROTOCOL,
        OneOf("PLAINTEXT", "SSL"),
        "PLAINTEXT",
        "SSL: the metrics.listener speaks HTTPS, by the settings ssl.* or listener.name.metrics.ssl.*. With"
        " ssl.client.auth=required only clients with a certificate may read.",
    ),
    Setting(
        USERS_FILE,
        text,
        None,
        "A file with users and hashes of their passwords: only they may read from metrics.listener (HTTP Basic). It"
        " needs metrics.security.protocol=SSL. The form is that of sasl.plain.users.file; the server looks for changes"
        " every second.",
        metavar="FILE",
        default_words="everybody who can connect",
    ),
    Setting(
        HOST_NAMES,
        host_names,
        frozenset(),
        "Names by which /metrics, the status page and its API may be asked for without a login, besides IP"
        " addresses, localhost, and the hosts of metrics.listener, listeners and advertised.listeners. Others get"
        " 421: a web page from elsewhere could read them through a browser (DNS rebinding). /health and /ready answer"
        " to any.",
        metavar="NAME,…",
        default_words="no other",
    ),
    Setting(
        STATUS_PAGE,
        OneOf("off", "counts", "full"),
        None,
        "What the status page and its API show at metrics.listener. off: there is none. counts: numbers alone, no names"
        " of topics, principals, reasons or addresses. full: everything, to all who may read from metrics.listener.",
        default_words="full where metrics.users.file or client certificates say who may read, else counts",
    ),
)


def http_security(values: Mapping[str, Any]) -> HttpSecurity:
    """Reads the stores and the file. Raises UsageError."""
    users_file = values[USERS_FILE]
    refuse_without_effect(values, LISTENER, values[PROTOCOL], f"{PROTOCOL} says its protocol")
    if values[PROTOCOL] == "PLAINTEXT":
        if users_file is not None:
            raise UsageError(f"{USERS_FILE}: passwords need {PROTOCOL}=SSL")
        return HttpSecurity(host_names=_host_names(values))
    try:
        config = TlsConfig.of(security_properties(values), (prefix_of(LISTENER), ""))
        tls = tls_context(LISTENER, config)
        certificates = config.client_auth is ssl.CERT_REQUIRED
        if users_file is None:
            return HttpSecurity(tls, certificates=certificates, host_names=_host_names(values))
        file = UsersFile(USERS_FILE, Path(users_file))
        file.read()
        return HttpSecurity(tls, file.users, file, certificates)
    except BadSetting as error:
        raise UsageError(str(error)) from None


def _host_names(values: Mapping[str, Any]) -> frozenset[str]:
    """The operator knows this server by these."""
    endpoints = [*values["listeners"], *(values["advertised.listeners"] or ())]
    hosts = [values["metrics.listener"][0], *(endpoint.host for endpoint in endpoints)]
    return values[HOST_NAMES] | {host.lower() for host in hosts if host}  # type: ignore[no-any-return]


def status_page(values: Mapping[str, Any], security: HttpSecurity) -> str:
    """Returns `off`, `counts` or `full`."""
    return str(values[STATUS_PAGE] or ("full" if security.authenticates else "counts"))


def page_address(metrics_address: str, values: Mapping[str, Any]) -> str | None:
    """A browser on this machine finds the status page there; None: there is none."""
    if values[STATUS_PAGE] == "off":
        return None
    host, port = host_port(metrics_address)
    at = Address("localhost" if host in EVERY_ADDRESS else host, port)
    return f"{'http' if values[PROTOCOL] == 'PLAINTEXT' else 'https'}://{at}/"
