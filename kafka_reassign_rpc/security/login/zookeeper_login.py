"""The logins that ZooKeeper speaks. Source: its ZooKeeperSaslClient and SecurityUtils. With DIGEST-MD5 every server is
"zk-sasl-md5".
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.login import kerberos
from kafka_reassign_rpc.security.login.digest_md5 import DigestMd5Client
from kafka_reassign_rpc.security.login.jaas import JaasEntry
from kafka_reassign_rpc.security.login.login_errors import LoginFailed, failure
from kafka_reassign_rpc.security.login.sasl_login import SaslLogin
from kafka_reassign_rpc.security.login.sasl_mechanisms import next_token
from kafka_reassign_rpc.support.secrecy import told_class

DIGEST_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
MAX_ROUNDS = 10
_DIGEST_SERVER = "zookeeper/zk-sasl-md5"

_Exchange = Callable[[bytes], Awaitable[bytes]]
ZooKeeperLogin = Callable[[str, _Exchange], Awaitable[None]]
"""Logs in on a connection to the host of that name, by exchanging tokens. Raises LoginFailed."""


def zookeeper_login(entry: JaasEntry, place: str, service: str = "zookeeper") -> ZooKeeperLogin:
    """`place`: where the entry is, for messages; `service`: the first part of ZooKeeper's Kerberos principal.
    Raises BadSetting.
    """
    if entry.module.endswith(kerberos.MODULE):
        kerberos.prepare(entry, place)
        return _gssapi(service)
    if entry.module != DIGEST_MODULE:
        known = f"{DIGEST_MODULE} and {kerberos.MODULE}"
        raise BadSetting(f"{place}: ZooKeeper does not know the login module {told_class(entry.module)}, but {known}")
    username, password = entry.option("username"), entry.option("password")
    if username is None or password is None:
        raise BadSetting(f"{place}: {DIGEST_MODULE} needs a username and a password")
    return _digest_md5(username, password)


def _digest_md5(username: str, password: str) -> ZooKeeperLogin:
    async def login(_: str, exchange: _Exchange) -> None:
        client = DigestMd5Client(username, password, _DIGEST_SERVER)
        client.verify(await exchange(client.respond(await exchange(b""))))

    return login


def _gssapi(service: str) -> ZooKeeperLogin:
    login_to = SaslLogin(kerberos.GSSAPI, {"sasl_kerberos_service_name": service})

    async def login(host: str, exchange: _Exchange) -> None:
        ours = await _step(login_to.exchange, host)
        token = await _step(next_token, ours)
        for _ in range(MAX_ROUNDS):
            token = await _step(next_token, ours, await exchange(token))
            if token is None:
                return
        raise LoginFailed("GSSAPI: ZooKeeper asks for too many tokens")

    return login


async def _step(step: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return await asyncio.to_thread(step, *arguments)
    except Exception as error:
        raise LoginFailed(f"GSSAPI: {failure(error)}") from None
