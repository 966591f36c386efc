"""Removes expired delegation tokens. Kafka: DelegationTokenManager.expireTokens, which the controller runs. Brokers let
no client in with an expired one. A token that was renewed in between stays: the removal holds for one version of its
znode.
"""

import asyncio
import logging
from collections.abc import Callable

from kafka_reassign_rpc.controller.store import ReloadNeeded
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import FencedZooKeeper
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.znode_contents import decode_token_end, token_removal
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode

log = logging.getLogger(__name__)

CHECK_INTERVAL_S = 3600.0
"""Kafka's default of delegation.token.expiry.check.interval.ms."""
READ_TOGETHER = 100


async def expire_delegation_tokens(zk: ZooKeeper, store: FencedZooKeeper, now_ms: Callable[[], int]) -> None:
    """Raises ControllerMoved."""
    while True:
        try:
            await remove_expired_tokens(zk, store, now_ms)
        except ReloadNeeded as error:
            log.info("expired delegation tokens stay until the next run in an hour: %s", error)
        await asyncio.sleep(CHECK_INTERVAL_S)


async def remove_expired_tokens(zk: ZooKeeper, store: FencedZooKeeper, now_ms: Callable[[], int]) -> None:
    """Raises ControllerMoved, ReloadNeeded."""
    tokens = await store.reading(lambda: _tokens(zk))
    for some in pieces(tokens, READ_TOGETHER):
        read = await store.read([znode_paths.delegation_token(token) for token in some])
        for token, found in zip(some, read, strict=True):
            if found is None:
                continue
            data, stat = found
            try:
                expired = decode_token_end(data, znode_paths.delegation_token(token)) < now_ms()
            except BadZnode as error:
                log.error("%s: the token stays until its znode is repaired or deleted", error)
                continue
            if expired:
                await _remove(store, token, stat.version)


async def _tokens(zk: ZooKeeper) -> list[str]:
    try:
        return await zk.children(znode_paths.DELEGATION_TOKENS, many=True)
    except NoNode:
        return []


async def _remove(store: FencedZooKeeper, token: str, version: int) -> None:
    try:
        await store.write_together([token_removal(token, version)])
    except ReloadNeeded as error:
        log.info("the expired delegation token %s stays until the next run in an hour: %s", token, error)
    else:
        log.info("the expired delegation token %s is removed", token)
