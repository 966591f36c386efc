"""How the cluster of a campaign is secured: not at all, or by all that Kafka has.

Secured: every listener is SASL_SSL; brokers and our servers log in by SCRAM as one user, the load as another, which may
read and write and no more, and the campaign itself by PLAIN as a super user. ZooKeeper knows its users, and only
brokers and our servers may write its znodes.
"""

import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kafka_reassign_rpc.core.acls.acl_authorizer import Entries
from kafka_reassign_rpc.core.acls.acl_binding import (
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.embedded_zookeeper import QUICK_START
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.access import Access
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.certificates import Authority
from tests.mixed_clusters.secured_cluster import PLAIN, SCRAM, add_user
from tests.mixed_clusters.zookeeper_users import OWNER, SECRET, zookeeper_users
from tests.raw_client import Login

LOAD, ADMIN = "load", "admin"
PROTOCOL = "SASL_SSL"
RIGHTS: Mapping[ResourceType, tuple[str, Sequence[AclOperation]]] = {
    ResourceType.TOPIC: ("*", (AclOperation.READ, AclOperation.WRITE)),
    ResourceType.GROUP: ("*", (AclOperation.READ,)),
    ResourceType.TRANSACTIONAL_ID: ("*", (AclOperation.WRITE,)),
    ResourceType.CLUSTER: ("kafka-cluster", (AclOperation.IDEMPOTENT_WRITE,)),
}
"""Of the load."""


@dataclass(frozen=True)
class Security:
    """What each part of a cluster gets on top.

    brokers            server.properties; `jvm`: options of their JVM
    servers            options of ours
    load, admin        librdkafka's configs
    login              of raw requests
    zookeeper_jvm, zookeeper_settings, access    of ZooKeeper, and of the campaign's own client of it
    """

    protocol: str = "PLAINTEXT"
    brokers: Mapping[str, str] = field(default_factory=dict)
    jvm: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    load: Mapping[str, str] = field(default_factory=dict)
    admin: Mapping[str, str] = field(default_factory=dict)
    login: Login | None = None
    zookeeper_jvm: tuple[str, ...] = QUICK_START
    zookeeper_settings: Mapping[str, str] = field(default_factory=dict)
    access: Access = field(default_factory=Access)

    async def prepare(self, zk: ZooKeeper) -> None:
        """Before a broker starts: the users of SCRAM, and what the load may do."""
        if self.protocol != PROTOCOL:
            return
        await zk.ensure_path(znode_paths.config_type("users"))
        for user in (OWNER, LOAD):
            await add_user(zk, user)
        store = AclStore(zk)
        await store.create_paths()
        for kind, (name, operations) in RIGHTS.items():
            entries = frozenset(
                AccessControlEntry(f"User:{LOAD}", "*", one, AclPermissionType.ALLOW) for one in operations
            )
            await store.change(ResourcePattern(kind, name, PatternType.LITERAL), partial(_all_of, entries))


def _all_of(entries: Entries, _: Entries) -> Entries:
    return entries


OPEN = Security()


def secured(directory: Path) -> Security:
    """Writes certificates and the file of logins into the directory."""
    ca = Authority("CN=ca")
    trust = ca.pem_truststore(directory / "ca.pem")
    known = zookeeper_users(directory)
    context = ssl.create_default_context(cafile=trust["ssl.truststore.location"])
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    prefix = f"listener.name.{PROTOCOL.lower()}"
    brokers = {
        **ca.issue("CN=node").pem_keystore(directory / "node.pem"),
        **trust,
        "security.inter.broker.protocol": PROTOCOL,
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
        f"{prefix}.scram-sha-512.sasl.jaas.config": f'{SCRAM} required username="{OWNER}" password="{SECRET}";',
        f"{prefix}.plain.sasl.jaas.config": f'{PLAIN} required user_{ADMIN}="{SECRET}";',
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": f"User:{OWNER};User:{ADMIN}",
        "zookeeper.set.acl": "true",
    }

    def client(user: str, mechanism: str) -> dict[str, str]:
        return {
            "security.protocol": PROTOCOL,
            "ssl.ca.location": trust["ssl.truststore.location"],
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": SECRET,
        }

    return Security(
        protocol=PROTOCOL,
        brokers=brokers,
        jvm=(known.login,),
        servers=(
            *("--kafka-config", str(directory / "1" / "server.properties")),
            *("--java-security-auth-login-config", str(known.file)),
            *("--listeners", f"{PROTOCOL}://127.0.0.1:0"),
        ),
        load=client(LOAD, "SCRAM-SHA-512"),
        admin=client(ADMIN, "PLAIN"),
        login=Login(context, ADMIN, SECRET),
        zookeeper_jvm=known.jvm,
        zookeeper_settings=known.settings,
        access=known.access,
    )
