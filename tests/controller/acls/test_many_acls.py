"""100,000 ACLs are loaded, found and deleted in short turns of the event loop."""

import pytest

from kafka_reassign_rpc.controller.lifecycle.served_acls import AclKeeper, ServedAcls
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.acls.acl_binding import (
    AccessControlEntry,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore, acl_path, encode_acls
from kafka_reassign_rpc.zookeeper.operations import Create
from kafka_reassign_rpc.zookeeper.transactions import split_ops
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.longest_turn import tries
from tests.waiting import eventually

RESOURCES, IN_ONE = 90_000, 10_000
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
    wanted = AclBindingFilter(
        ResourceType.ANY, None, PatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    async with ZooKeeper(zk_connect) as own:
        for measured in tries():
            keeper = AclKeeper(own, AclAuthorizer())
            served = ServedAcls(keeper, lambda _events: None)
            try:
                async with measured:
                    await keeper.start()
                    await eventually(lambda: keeper.authorizer.loaded)  # noqa: B023
                    found = await served.find(wanted)
                    await store.change(large, lambda _: frozenset([read]))
                    await eventually(lambda: keeper.authorizer.cache.size == RESOURCES + 1)  # noqa: B023
                assert sum(map(len, found.values())) == RESOURCES + IN_ONE
            finally:
                await keeper.close()
            await store.change(large, lambda _: many)
