"""A ZooKeeper that knows its users by DIGEST-MD5, as examples/secured-cluster has it: the file of logins that it,
brokers and our servers share.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kafka_reassign_rpc.embedded_zookeeper import QUICK_START
from kafka_reassign_rpc.security.login.jaas import JaasEntry
from kafka_reassign_rpc.security.login.zookeeper_login import DIGEST_MODULE, zookeeper_login
from kafka_reassign_rpc.security.properties import parse_properties
from kafka_reassign_rpc.zookeeper.access import Access
from kafka_reassign_rpc.zookeeper.access import secured as acl_of
from tests.secured_example import EXAMPLE

SECRET = "correct, horse=battery"
OWNER = "kafka"
"""Who brokers and our servers are to ZooKeeper."""


def _settings() -> dict[str, str]:
    """What the example says of users."""
    properties = parse_properties((EXAMPLE / "zookeeper.properties").read_text())
    return {name: value for name, value in properties.items() if name.startswith("authProvider.")}


@dataclass(frozen=True)
class ZooKeeperUsers:
    """
    file        of logins
    login       the option of a JVM that names it
    jvm         options of ZooKeeper's JVM
    settings    of ZooKeeper
    access      as OWNER, with the ACLs of `zookeeper.set.acl`
    """

    file: Path
    login: str
    jvm: tuple[str, ...]
    access: Access
    settings: Mapping[str, str] = field(default_factory=_settings)


def zookeeper_users(directory: Path, more: str = "") -> ZooKeeperUsers:
    """`more`: sections of the file besides those for ZooKeeper."""
    file = directory / "jaas.conf"
    texts = [(EXAMPLE / name).read_text() for name in ("zookeeper-jaas.conf", "jaas.conf")]
    file.write_text("".join(text.replace("zookeeper-secret", SECRET) for text in texts) + more)
    login = f"-Djava.security.auth.login.config={file}"
    entry = JaasEntry(DIGEST_MODULE, {"username": OWNER, "password": SECRET})
    access = Access(sasl=zookeeper_login(entry, "Client"), acl_of=acl_of)
    return ZooKeeperUsers(file, login, (*QUICK_START, login), access)
