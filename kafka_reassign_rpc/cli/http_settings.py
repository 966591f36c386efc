"""The pages for monitoring, and who may read them: a part of the server's catalogue."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.cli.kafka_config import LISTENER_PREFIX
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.cli.settings_reader import Setting
from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.cli.value_parsers import host_and_port, one_of, text
from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.sasl.hashed_users import HashedUsers, parse_users
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.security.tls.store_settings import read_store
from kafka_reassign_rpc.server.http_security import HttpSecurity
from kafka_reassign_rpc.server.listener_security import tls_context

PROCESS = "files, logs and metrics"
PROTOCOL = "metrics.security.protocol"
USERS_FILE = "metrics.users.file"
LISTENER = "METRICS"
"""The name of the listener of these pages: its settings of TLS begin with `listener.name.metrics.`"""

HTTP_SETTINGS: tuple[Setting, ...] = (
    Setting(
        "metrics.listener",
        host_and_port,
        None,
        "The address on which the server serves /metrics (Prometheus), /health and /ready over HTTP. Port 0 picks a"
        " free port.",
        group=PROCESS,
        metavar="HOST:PORT",
        default_words="not served",
    ),
    Setting(
        PROTOCOL,
        one_of("PLAINTEXT", "SSL"),
        "PLAINTEXT",
        "SSL: the metrics.listener speaks HTTPS, by the settings ssl.* or listener.name.metrics.ssl.*. With"
        " ssl.client.auth=required only clients with a certificate may read.",
        group=PROCESS,
        metavar="PLAINTEXT|SSL",
    ),
    Setting(
        USERS_FILE,
        text,
        None,
        "A file with users and hashes of their passwords: only they may read from metrics.listener (HTTP Basic). It"
        " needs metrics.security.protocol=SSL. The form is that of sasl.plain.users.file.",
        group=PROCESS,
        metavar="FILE",
        default_words="everybody who can connect",
    ),
)


def http_security(values: Mapping[str, Any]) -> HttpSecurity:
    """The security of the pages for monitoring. Reads the stores and the file. Raises UsageError."""
    users_file = values[USERS_FILE]
    if values[PROTOCOL] == "PLAINTEXT":
        if users_file is not None:
            raise UsageError(f"{USERS_FILE}: passwords need {PROTOCOL}=SSL")
        return HttpSecurity()
    try:
        config = TlsConfig.of(security_properties(values), (f"{LISTENER_PREFIX}{LISTENER.lower()}.", ""))
        users = None
        if users_file is not None:
            users = HashedUsers(parse_users(read_store(USERS_FILE, Path(users_file)), f"{USERS_FILE}: {users_file}"))
        return HttpSecurity(tls_context(LISTENER, config), users)
    except BadSetting as error:
        raise UsageError(str(error)) from None
