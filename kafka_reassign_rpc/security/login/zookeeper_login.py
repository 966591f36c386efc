"""The login that ZooKeeper speaks: DIGEST-MD5 with a password.

Source: ZooKeeper's ZooKeeperSaslClient and SecurityUtils. With DIGEST-MD5 every server is "zk-sasl-md5".
"""

from collections.abc import Awaitable, Callable

from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.login.digest_md5 import DigestMd5Client
from kafka_reassign_rpc.security.login.jaas import JaasEntry

DIGEST_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
_DIGEST_SERVER = "zookeeper/zk-sasl-md5"

_Exchange = Callable[[bytes], Awaitable[bytes]]
ZooKeeperLogin = Callable[[str, _Exchange], Awaitable[None]]
"""Logs in on a connection to the host of that name, by exchanging tokens. Raises LoginFailed."""


def zookeeper_login(entry: JaasEntry, what: str) -> ZooKeeperLogin:
    """The login of a JAAS entry; `what` names the entry's place. Raises BadSetting."""
    if entry.module != DIGEST_MODULE:
        raise BadSetting(f"{what}: the login module {entry.module} is not one for ZooKeeper ({DIGEST_MODULE})")
    username, password = entry.option("username"), entry.option("password")
    if username is None or password is None:
        raise BadSetting(f"{what}: {DIGEST_MODULE} needs a username and a password")
    return _digest_md5(username, password)


def _digest_md5(username: str, password: str) -> ZooKeeperLogin:
    async def login(_: str, exchange: _Exchange) -> None:
        client = DigestMd5Client(username, password, _DIGEST_SERVER)
        client.verify(await exchange(client.respond(await exchange(b""))))

    return login
