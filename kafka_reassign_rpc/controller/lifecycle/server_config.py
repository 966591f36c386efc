"""The settings of one server at its start."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.controller.duties.progress_sampling import Sampling
from kafka_reassign_rpc.controller.telemetry.event_log import FILE_BYTES, FILES, REFUSAL_FILES, EventLog
from kafka_reassign_rpc.controller.telemetry.webhook_requests import WebhookConfig
from kafka_reassign_rpc.core.acls.acl_authorizer import CLASS_NAME, AclAuthorizer
from kafka_reassign_rpc.core.settings import setting_kinds
from kafka_reassign_rpc.core.settings.broker_settings import AUTHORIZER, Value, shown
from kafka_reassign_rpc.core.settings.reassignment_settings import (
    DEFAULT_SETTINGS,
    ReassignmentSettings,
)
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.security.properties import PROTOCOL_MAP
from kafka_reassign_rpc.server.http_server import HttpSecurity
from kafka_reassign_rpc.server.listener import ListenerSecurity
from kafka_reassign_rpc.server.sasl_sources import SaslSources
from kafka_reassign_rpc.server.server_limits import ServerLimits
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.zookeeper.access import PLAIN, Access
from kafka_reassign_rpc.zookeeper.zookeeper_client import SESSION_TIMEOUT_MS, ZooKeeper

OFF, COUNTS, FULL = "off", "counts", "full"
"""What the status page shows: there is none; only numbers; everything."""


class EventLogConfig(msgspec.Struct, frozen=True):
    directory: Path
    file_bytes: int = FILE_BYTES
    files: int = FILES
    refusal_files: int = REFUSAL_FILES
    group_read: bool = False

    def event_log(self) -> EventLog:
        return EventLog(
            self.directory,
            file_bytes=self.file_bytes,
            files=self.files,
            refusal_files=self.refusal_files,
            group_read=self.group_read,
        )


class AuthorizerConfig(msgspec.Struct, frozen=True):
    """The settings of AclAuthorizer, by Kafka's names. `zookeeper_url` is where ACLs are, if not at
    `ServerConfig.zookeeper_connect`. The two timeouts belong to it; None takes those of the cluster."""

    super_users: frozenset[str] = frozenset()
    allow_everyone_if_no_acl_found: bool = False
    zookeeper_url: str | None = None
    zookeeper_session_timeout_ms: int | None = None
    zookeeper_connection_timeout_ms: int | None = None

    def acl_authorizer(self) -> AclAuthorizer:
        return AclAuthorizer(self.super_users, allow_everyone=self.allow_everyone_if_no_acl_found)


class ServerConfig(msgspec.Struct, frozen=True):
    """advertised          where clients reach `listeners`, in the same order, if not there
    brokers_listener    the one that brokers use, where there are several
    security            how listeners secure connections, by name; the others do not
    sasl                what their authenticators need, if one has SASL
    broker_settings     settings of `core.settings.broker_settings` that the operator sets, by name; others are learnt
    new_cluster         whether the cluster starts with this server: it may be empty
    refuses_by_policy   whether it refuses what a policy of the brokers would have to check, since it cannot run Java
    authorizer          None: every client that reaches the server may do what brokers without an authorizer allow
    refuses_without_authorizer
                        whether a server without one refuses what needs a right if the brokers have one, or may have
    status_page         what it shows at `metrics_listener`: `OFF`, `COUNTS` or `FULL`
    webhooks            None: it notifies nobody
    """

    zookeeper_connect: str
    listeners: Sequence[Endpoint]
    advertised: Sequence[Endpoint] | None = None
    brokers_listener: str = ""
    security: Mapping[str, ListenerSecurity] = {}
    sasl: SaslSources | None = None
    server_id: int = 1000
    session_timeout_ms: int = SESSION_TIMEOUT_MS
    connection_timeout_ms: int = 30_000
    links: BrokerLinks = msgspec.field(default_factory=BrokerLinks)
    zookeeper_access: Access = PLAIN
    takeover: Takeover = Takeover.ALWAYS
    broker_settings: Mapping[str, Value] = {}
    refuses_by_policy: bool = True
    new_cluster: bool = False
    limits: ServerLimits = ServerLimits()
    settings: ReassignmentSettings = DEFAULT_SETTINGS
    event_log: EventLogConfig | None = None
    sampling: Sampling = Sampling()
    metrics_listener: tuple[str, int] | None = None
    authorizer: AuthorizerConfig | None = None
    refuses_without_authorizer: bool = True
    metrics_security: HttpSecurity = HttpSecurity()
    status_page: str = COUNTS
    webhooks: WebhookConfig | None = None

    @property
    def started_with(self) -> ReassignmentSettings:
        return replace(self.settings, sizes_sampled=self.sampling.interval_s > 0)

    def own_broker_settings(self) -> Mapping[str, Value]:
        return self.broker_settings if self.authorizer is None else {**self.broker_settings, AUTHORIZER: CLASS_NAME}

    def zookeeper_of_acls(self) -> ZooKeeper | None:
        """None if it is the cluster's, or if there is no authorizer."""
        of = self.authorizer
        if of is None or of.zookeeper_url is None:
            return None
        timeout_ms = of.zookeeper_session_timeout_ms or self.session_timeout_ms
        return ZooKeeper(of.zookeeper_url, session_timeout_ms=timeout_ms, access=self.zookeeper_access)


def listed(endpoints: Sequence[Endpoint]) -> str:
    return ",".join(f"{one.listener}://{Address(one.host, one.port)}" for one in endpoints)


def static_configs(config: ServerConfig) -> dict[str, str]:
    return {
        "broker.id": str(config.server_id),
        "zookeeper.connect": config.zookeeper_connect,
        "zookeeper.session.timeout.ms": str(config.session_timeout_ms),
        "listeners": listed(config.listeners),
        **(
            {PROTOCOL_MAP: ",".join(f"{one.listener}:{one.security_protocol}" for one in config.listeners)}
            if any(one.listener != one.security_protocol for one in config.listeners)
            else {}
        ),
        **({"advertised.listeners": listed(config.advertised)} if config.advertised else {}),
        **({AUTHORIZER: CLASS_NAME} if config.authorizer else {}),
        **{name: shown(value) for name, value in config.broker_settings.items()},
        **own_settings(config.settings),
    }


def own_settings(settings: ReassignmentSettings) -> dict[str, str]:
    """Shared settings that differ from the default."""
    return {
        name: setting_kinds.shown(one.of(settings))
        for name, one in SERVER_SETTINGS.items()
        if one.of(settings) != one.value
    }
