"""100,000 ACLs are loaded, found and deleted in short turns of the event loop."""

import pytest

from kafka_reassign_rpc.controller.duties.acl_keeper import AclKeeper
from kafka_reassign_rpc.controller.lifecycle.served_acls import ServedAcls
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.acls.acl_binding import (
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.core.acls.acl_filters import AclBindingFilter
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore, acl_path, encode_acls
from kafka_reassign_rpc.zookeeper.operations import Create
from kafka_reassign_rpc.zookeeper.transactions import split_ops
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.longest_turn import longest_turn
from tests.waiting import eventually

RESOURCES, IN_ONE = 90_000, 10_000
LONGEST_TURN_S = 0.1
"""Of CPU, on a machine that others share. Without slices loading alone takes seconds."""

pytestmark = [pytest.mark.gate, pytest.mark.timeout(300)]


async def test_sv_6_a_hundred_thousand_acls_hold_up_no_client(zk: ZooKeeper, zk_connect: str) -> None:
    read = AccessControlEntry("User:alice", "*", AclOperation.READ, AclPermissionType.ALLOW)
    store = AclStore(zk)
    await store.create_paths()
    patterns = [ResourcePattern(ResourceType.TOPIC, f"topic-{n}", PatternType.LITERAL) for n in range(RESOURCES)]
    one = encode_acls(frozenset([read]))
    for batch in split_ops(Create(acl_path(pattern), one) for pattern in patterns):
        await zk.multi(batch)
    large = ResourcePattern(ResourceType.TOPIC, "large", PatternType.LITERAL)
    many = frozenset(read._replace(principal=f"User:{n}") for n in range(IN_ONE))
    await zk.create(acl_path(large), encode_acls(many))
    async with ZooKeeper(zk_connect) as own:
        keeper = AclKeeper(own, AclAuthorizer())
        with longest_turn() as turn:
            await keeper.start()
            await eventually(lambda: keeper.authorizer.loaded)
        try:
            assert keeper.authorizer.cache.size == RESOURCES + IN_ONE
            assert turn.seconds < LONGEST_TURN_S
            wanted = AclBindingFilter(
                ResourceType.ANY, None, PatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
            )
            served = ServedAcls(keeper, lambda _events: None)
            with longest_turn() as turn:
                found = await served.find(wanted)
            assert sum(map(len, found.values())) == RESOURCES + IN_ONE
            assert turn.seconds < LONGEST_TURN_S
            with longest_turn() as turn:
                await store.change(large, lambda _: frozenset([read]))
                await eventually(lambda: keeper.authorizer.cache.size == RESOURCES + 1)
            assert turn.seconds < LONGEST_TURN_S
        finally:
            await keeper.close()
