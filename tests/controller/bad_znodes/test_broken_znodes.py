"""Every kind of znode is written, broken at any place, under a running controller: its term and all routes go on.

`tests/zookeeper/test_broken_contents.py` tries each decoder alone, on every break.
"""

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import BadArguments, NodeExists, NoNode
from tests.controller.bad_znodes.test_garbage import serving, unreachable
from tests.controller.bad_znodes.test_hostile_znodes import all_routes_work, is_gone, logged, remove
from tests.controller.bare_controller import put_topic
from tests.waiting import eventually
from tests.zookeeper.broken_documents import breaks, text_of
from tests.zookeeper.test_broken_contents import ZNODES

MISSING = "u"
"""A topic that exists only as its broken znode."""
PLACES: Mapping[str, Sequence[str]] = {
    "decode_topic": (znode_paths.topic(MISSING), znode_paths.topic("t")),
    "decode_state": (znode_paths.partition_state("t", 0), znode_paths.partition_state("t", 1)),
    "decode_failed_log_dirs": (znode_paths.failed_log_dirs(21), znode_paths.failed_log_dirs(1)),
    "decode_failure": (znode_paths.failed_broker(21), znode_paths.failed_broker(1)),
    "decode_last_control": (znode_paths.LAST_CONTROL,),
    "decode_registered_server": (znode_paths.reassignment_server(21), znode_paths.reassignment_server(1)),
    "decode_broker": (znode_paths.broker(11), znode_paths.broker(12)),
    "decode_config": (
        *(znode_paths.config_topic("t"), znode_paths.config_broker("1"), znode_paths.config_broker("<default>")),
    ),
    "decode_config_change": (znode_paths.CONFIG_CHANGE_PREFIX,),
    "decode_producer_id_block": (znode_paths.PRODUCER_ID_BLOCK,),
    "decode_cluster_id": (znode_paths.CLUSTER_ID,),
    "decode_move_record": (znode_paths.reassignment("t", 0), znode_paths.reassignment(MISSING, 1)),
    "decode_reassignments": (znode_paths.REASSIGN_PARTITIONS,),
    "decode_queue": (znode_paths.REASSIGN_QUEUE, znode_paths.REASSIGN_EXTRA),
    "decode_request": (znode_paths.reassignment_request("request_"),),
    "decode_token_end": (znode_paths.delegation_token("a"), znode_paths.delegation_token("b")),
    "decode_memory": (znode_paths.throttle_memory("brokers", "1"), znode_paths.throttle_memory("topics", "t")),
    "decode_log_dir_event": (f"{znode_paths.LOG_DIR_EVENTS}/log_dir_event_",),
    "decode_partitions": (f"{znode_paths.ISR_CHANGES}/isr_change_", znode_paths.PREFERRED_REPLICA_ELECTION),
}
FENCE = {"decode_controller", "decode_controller_epoch"}
"""Whoever writes these ends the term: they say who the controller is."""
ACLS = {"decode_acls", "decode_extended_change"}
"""A server without an authorizer does not read these; for one that has it: tests/controller/acls/test_acl_keeper."""
ROUTES = (znode_paths.REASSIGN_PARTITIONS, *znode_paths.QUEUES)
TAKEN_UP = (znode_paths.REASSIGNMENT_REQUESTS, znode_paths.LOG_DIR_EVENTS, znode_paths.ISR_CHANGES)
_BREAKS = {
    name: [(document, one) for document in ZNODES[name].documents for one in breaks(document)] for name in PLACES
}
_chroots = itertools.count(1)

written = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=100, max_size=100)


def broken(number: int, which: int) -> tuple[str, bytes]:
    """A path and what is written there: each kind in its turn."""
    name = list(PLACES)[number % len(PLACES)]
    document, how = _BREAKS[name][which % len(_BREAKS[name])]
    data = text_of(document, how).replace(b"://h:9092", b"://127.0.0.1:1").replace(b'"h"', b'"127.0.0.1"')
    return PLACES[name][which % len(PLACES[name])], data


async def write(zk: ZooKeeper, path: str, data: bytes) -> None:
    """Create the znode, or write it. The controller may remove it at any time."""
    await zk.ensure_path(path.rpartition("/")[0])
    with suppress(NoNode, BadArguments):
        try:
            await zk.create(path, data, sequence=path.endswith("_"))
        except NodeExists:
            await zk.set(path, data)


async def live_through(connect: str, numbers: Sequence[tuple[int, int]]) -> None:
    async with ZooKeeper(connect) as zk, logged() as log:
        await zk.ensure_path(znode_paths.BROKER_IDS)
        for broker in (1, 2, 3):
            await zk.create(znode_paths.broker(broker), await unreachable(), ephemeral=True)
        await put_topic(zk, "t", {0: (1, 2), 1: (1, 2)})
        await put_topic(zk, "good", {0: (1, 2)}, topic_id=None)
        async with serving(connect) as address:
            epoch = (await zk.get(znode_paths.CONTROLLER_EPOCH))[0]
            for start, which in numbers:
                await write(zk, *broken(start, which))
            for path in ROUTES:
                await remove(zk, path)
            for path in TAKEN_UP:
                await eventually(lambda parent=path: is_empty(zk, parent))  # type: ignore[misc]
            await eventually(lambda: is_gone(zk, znode_paths.PREFERRED_REPLICA_ELECTION))
            await all_routes_work(zk, address)
            assert (await zk.get(znode_paths.CONTROLLER_EPOCH))[0] == epoch, "its term goes on"
        assert not log.defects
        async with serving(connect) as address:
            for path in ROUTES:
                await remove(zk, path)
            await all_routes_work(zk, address)
        assert not log.defects


async def is_empty(zk: ZooKeeper, parent: str) -> bool:
    try:
        return not await zk.children(parent)
    except NoNode:
        return True


def test_sv_6_every_kind_of_znode_that_a_controller_reads_is_written() -> None:
    assert ZNODES.keys() - FENCE - ACLS == PLACES.keys()


@pytest.mark.timeout(180)
@settings(
    max_examples=3,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # one that fails takes a second: it is not made smaller
)
@given(numbers=written)
def test_sv_6_a_controller_works_on_whatever_is_written_into_any_znode(
    zookeeper: EmbeddedZooKeeper, numbers: list[tuple[int, int]]
) -> None:
    async def play() -> None:
        chroot = f"/broken-{next(_chroots)}"
        async with ZooKeeper(zookeeper.address) as outside:
            await outside.ensure_path(chroot)
        await live_through(zookeeper.address + chroot, numbers)

    asyncio.run(play())
