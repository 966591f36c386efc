"""If the brokers have an authorizer, a node without one would do for anybody what they refuse: so
it asks them first.
"""

from typing import Protocol

from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer

NOBODY = AclAuthorizer(frozenset(), allow_everyone=False)
"""Decides behind a closed door: nobody may do anything."""
NOBODY.loaded = True


class Door(Protocol):
    """`known` waits, for some seconds at most, until it is known whether the door is open."""

    @property
    def is_open(self) -> bool: ...

    @property
    def why_closed(self) -> str:
        """Also says what to do."""

    async def known(self) -> None: ...
