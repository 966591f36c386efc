"""How a client reaches ZooKeeper: TLS, login, and the ACLs of what it creates."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.security.tls.reloaded_context import ReloadedContext
from kafka_reassign_rpc.zookeeper.znode_acls import AclOf, open_to_all

Exchange = Callable[[bytes], Awaitable[bytes]]
"""Sends a SASL token; returns the server's challenge."""
Sasl = Callable[[str, Exchange], Awaitable[None]]
"""Authenticates a connection to the host of that name over SASL. Raises LoginFailed (or an OSError, or a ZkError)."""


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
