"""How a client reaches ZooKeeper: TLS, login, and the ACLs of what it creates (Kafka's ZkData.defaultAcls, ZooKeeper's
ZooDefs.Ids), by Kafka's settings (KafkaConfig, ZkConfigs, JaasUtils.isZkSaslEnabled).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.core.config_values import BROKERS
from kafka_reassign_rpc.security.login import jaas
from kafka_reassign_rpc.security.login.zookeeper_login import ZooKeeperLogin, zookeeper_login
from kafka_reassign_rpc.security.properties import BadSetting, Properties, is_blank
from kafka_reassign_rpc.security.tls.context_parts import ReloadedContext
from kafka_reassign_rpc.security.tls.tls_config import TlsConfig
from kafka_reassign_rpc.support.secrecy import told
from kafka_reassign_rpc.zookeeper import jute, znode_paths

Exchange = Callable[[bytes], Awaitable[bytes]]
"""Sends a SASL token; returns the server's challenge."""
Sasl = Callable[[str, Exchange], Awaitable[None]]
"""Authenticates a connection to the host of that name over SASL. Raises LoginFailed (or an OSError, or a ZkError)."""


AclOf = Callable[[str], bytes]
"""Returns the encoded ACL of a new znode by its path, without the chroot."""

READ, ALL = 1, 31
_CREATOR_ALL = (ALL, "auth", "")
"""ZooKeeper replaces it with the identities of the connection."""
_WORLD_READ = (READ, "world", "anyone")

_PRIVATE = jute.encode_acl([_CREATOR_ALL])
_SECURED = jute.encode_acl([_CREATOR_ALL, _WORLD_READ])

PRIVATE_ROOTS = (
    znode_paths.config_type("users"),
    znode_paths.config_type(BROKERS),
    znode_paths.DELEGATION_TOKENS,
)
"""Paths that begin so have secrets: only their creators read them (ZkData.SensitiveRootPaths)."""


def open_to_all(_: str) -> bytes:
    """As without `zookeeper.set.acl`."""
    return jute.OPEN_ACL


def secured(path: str) -> bytes:
    """As with Kafka's `zookeeper.set.acl=true`: the creator may do everything, others read, but no secrets. Everybody
    may write below `/consumers`.
    """
    if path == znode_paths.CONSUMERS:
        return jute.OPEN_ACL
    return _PRIVATE if path.startswith(PRIVATE_ROOTS) else _SECURED


def always(entries: Sequence[tuple[int, str, str]]) -> AclOf:
    """Entries are (permission bits, scheme, id)."""
    encoded = jute.encode_acl(entries)
    return lambda _: encoded


LONGEST = len(_SECURED)
"""Bytes of the longest ACL that a create sends."""
assert LONGEST <= jute.ACL_ROOM


class Access(NamedTuple):
    """tls     has the context for a `secureClientPort`, with the client's certificate if it has one; None: plain TCP
    sasl    authenticates a connection before anything else
    auth    (scheme, credentials), sent first on every connection
    acl_of  the ACL of each created znode, by its path
    """

    tls: ReloadedContext | None = None
    sasl: Sasl | None = None
    auth: Sequence[tuple[str, bytes]] = ()
    acl_of: AclOf = open_to_all

    async def keep(self) -> None:
        if self.tls is not None:
            await self.tls.keep()


PLAIN = Access()
"""Plain TCP without a login; znodes are open to all."""


ENABLE_TLS, SET_ACL = "zookeeper.ssl.client.enable", "zookeeper.set.acl"
SOCKET, NETTY = "zookeeper.clientCnxnSocket", "org.apache.zookeeper.ClientCnxnSocketNetty"
UNSUPPORTED = ("zookeeper.ssl.crl.enable", "zookeeper.ssl.ocsp.enable")
SASL, SECTION = "zookeeper.sasl.client", "zookeeper.sasl.clientconfig"
DEFAULT_SECTION = "Client"
SERVICE = "zookeeper.sasl.client.username"
_KEYSTORE, _KEYSTORE_PASSWORD = "zookeeper.ssl.keystore.location", "zookeeper.ssl.keystore.password"


def zookeeper_access(values: Mapping[str, str]) -> Access:
    """Reads keystores and a JAAS file: call it off the loop. Raises BadSetting."""
    properties = Properties(values, ("",))
    tls = _tls(values, properties)
    sasl = _sasl(properties)
    sets_acl = _switch(properties, SET_ACL)
    if sets_acl and sasl is None and (tls is None or tls.keystore is None):
        raise BadSetting(
            f"{SET_ACL}: ZooKeeper would not know whose the znodes are: it needs a section {DEFAULT_SECTION} in"
            f" {jaas.JAAS_FILE}, or {ENABLE_TLS} with {_KEYSTORE}"
        )
    context = None if tls is None else ReloadedContext("the connection to ZooKeeper", tls.load_client, tls.files)
    return Access(tls=context, sasl=sasl, acl_of=secured if sets_acl else open_to_all)


def _switch(properties: Properties, name: str, default: bool = False) -> bool:
    text = (properties.text(name) or str(default)).lower()
    if text not in ("true", "false"):
        raise BadSetting(f"{name}: expected true or false, got {told(text)}")
    return text == "true"


def _tls(values: Mapping[str, str], properties: Properties) -> TlsConfig | None:
    if not _switch(properties, ENABLE_TLS):
        return None
    if properties.text(SOCKET) not in (None, NETTY):
        raise BadSetting(f"{SOCKET}: ZooKeeper speaks TLS with {NETTY} only")
    for name in UNSUPPORTED:
        if _switch(properties, name):
            raise BadSetting(f"{name}: it is not supported: revoked certificates are not found out")
    return TlsConfig.of(_with_key_password(_without_blank_stores(values), properties), ("zookeeper.",))


def _without_blank_stores(values: Mapping[str, str]) -> Mapping[str, str]:
    """To ZooKeeper's client the blank location, type or password of a store is as good as none, and nothing is read of
    a store without a location (X509Util)."""
    found = dict(values)
    for store in (f"zookeeper.ssl.{kind}" for kind in ("keystore", "truststore")):
        is_set = bool(values.get(f"{store}.location", "").strip())
        for name in (f"{store}.{part}" for part in ("location", "password", "type")):
            if not is_set or is_blank(values.get(name)):
                found.pop(name, None)
    return found


def _with_key_password(values: Mapping[str, str], properties: Properties) -> Mapping[str, str]:
    """ZooKeeper calls the password of a key in PEM the keystore's; Kafka calls it the key's."""
    kind = properties.text("zookeeper.ssl.keystore.type") or ""
    path = properties.text(_KEYSTORE) or ""
    password = values.get(_KEYSTORE_PASSWORD)
    if password is None or not (kind.upper() == "PEM" or (not kind and path.endswith(".pem"))):
        return values
    found = {name: value for name, value in values.items() if name != _KEYSTORE_PASSWORD}
    return found | ({"zookeeper.ssl.key.password": password} if password else {})


def _sasl(properties: Properties) -> ZooKeeperLogin | None:
    path, section = properties.text(jaas.JAAS_FILE), properties.text(SECTION)
    if path is None or not _switch(properties, SASL, default=True):
        return None
    name = section or DEFAULT_SECTION
    entries = jaas.read_file(path, jaas.JAAS_FILE).get(name, ())
    place = f"{jaas.JAAS_FILE}: the section {name} of {path}"
    if not entries:
        if section is not None:
            raise BadSetting(f"{place} is missing")
        return None
    return zookeeper_login(entries[0], place, properties.text(SERVICE) or "zookeeper")
