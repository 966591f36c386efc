"""The check of a cluster: asks ZooKeeper and the brokers, each within a time limit, and changes nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress

from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.state.config_entities import BROKERS, DEFAULT, TOPICS
from kafka_reassign_rpc.preflight import (
    ask_brokers,
    authorizer_findings,
    broker_findings,
    default_config_findings,
    kraft_findings,
    migration_state,
    read_state,
    topic_config_findings,
    znode_findings,
    znode_rights,
)
from kafka_reassign_rpc.preflight.broker_principals import BrokerLogins
from kafka_reassign_rpc.preflight.findings import Finding, fine, unsafe
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.znode_acls import secured
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoAuth, ZkError

_NOTHING_KNOWN = BrokerLogins()


async def check(config: ServerConfig, seconds: float, logins: BrokerLogins = _NOTHING_KNOWN) -> list[Finding]:
    """Look whether a server with this configuration could control the cluster.

    seconds   the limit for a ZooKeeper session, for all reads from ZooKeeper, and for each broker
    logins    what is known of the logins of brokers
    """
    return await with_zookeeper(config, seconds, lambda zk: _check(zk, config, seconds, logins))


async def check_for_kraft(config: ServerConfig, seconds: float) -> list[Finding]:
    """Look whether the cluster could begin its migration to KRaft. Arguments as in `check`."""
    return await with_zookeeper(config, seconds, lambda zk: _check_for_kraft(zk, config, seconds))


async def with_zookeeper(
    config: ServerConfig, seconds: float, look: Callable[[ZooKeeper], Awaitable[list[Finding]]]
) -> list[Finding]:
    """What `look` finds, and whether ZooKeeper answers at all."""
    zk = ZooKeeper(
        config.zookeeper_connect, session_timeout_ms=config.session_timeout_ms, access=config.zookeeper_access
    )
    try:
        await zk.start(seconds)
    except ZkError as error:
        return [unsafe("zookeeper", str(error), "give the zookeeper.connect of the brokers")]
    try:
        return [fine("zookeeper", f"{zk.connect} answers"), *await look(zk)]
    finally:
        await zk.close()


async def _check_for_kraft(zk: ZooKeeper, config: ServerConfig, seconds: float) -> list[Finding]:
    try:
        async with asyncio.timeout(seconds):
            if zk.chroot and await zk.exists("/") is None:
                return [no_chroot(zk)]
            state = await read_state.read(zk)
            more = await migration_state.read(zk, state)
            standing = await ConfigStore(zk).get(BROKERS, DEFAULT)
    except NoAuth as error:
        text = f"it cannot be read, and so not by KRaft controllers with this login either: {error}"
        return [unsafe("zookeeper", text, "give the brokers' login to ZooKeeper, here and to the controllers")]
    except (ZkError, TimeoutError) as error:
        return [unread(error, seconds)]
    answers = await ask_brokers.ask_all(
        state.cluster.brokers.values(), config.links, f"check-{config.server_id}", seconds, standing, log_dirs=True
    )
    return list(kraft_findings.findings(state, more, answers))


def no_chroot(zk: ZooKeeper) -> Finding:
    text = f"there is no chroot {zk.chroot} in this ZooKeeper"
    return unsafe("chroot", text, "give the zookeeper.connect of the brokers")


def unread(error: Exception, seconds: float) -> Finding:
    text = f"it cannot be read within {seconds:g} s ({error or 'no answer'})"
    return unsafe("zookeeper", text, "look at ZooKeeper, or give a longer --timeout-ms")


async def _check(zk: ZooKeeper, config: ServerConfig, seconds: float, logins: BrokerLogins) -> list[Finding]:
    found: list[Finding] = []
    try:
        async with asyncio.timeout(seconds):
            if zk.chroot and await zk.exists("/") is None:
                return [no_chroot(zk)]
            found += await _rights(zk, config)
            state = await read_state.read(zk)
            standing = await ConfigStore(zk).get(BROKERS, DEFAULT)
            first = await read_state.first_decisions(state.cluster, config.server_id, config.settings)
    except NoAuth as error:
        return [*found, unsafe("zookeeper", f"it cannot be read: {error}", "see the finding about rights")]
    except (ZkError, TimeoutError) as error:
        return [*found, unread(error, seconds)]
    found += znode_findings.findings(state, first, config.server_id, config.takeover)
    answers = await ask_brokers.ask_all(
        state.cluster.brokers.values(), config.links, f"check-{config.server_id}", seconds, standing
    )
    found += broker_findings.findings(
        answers,
        config.advertised or config.listeners,
        config.links.listener,
        state.marks,
        balances=config.broker_settings.get("auto.leader.rebalance.enable") is True,
        deletes=config.broker_settings.get("delete.topic.enable") is True,
        refuses=config.refuses_by_policy,
    )
    found += default_config_findings.findings(standing, answers)
    found += topic_config_findings.findings(state.cluster.topic_configs, answers)
    found += authorizer_findings.findings(
        answers,
        config.advertised or config.listeners,
        await _authorizer(zk, config, seconds),
        logins,
        refuses=config.refuses_without_authorizer,
    )
    return found


async def _authorizer(zk: ZooKeeper, config: ServerConfig, seconds: float) -> AclAuthorizer | None:
    """The authorizer that the server would have, with the ACLs that can be read in time."""
    if config.authorizer is None:
        return None
    authorizer = AclAuthorizer(
        config.authorizer.super_users, allow_everyone=config.authorizer.allow_everyone_if_no_acl_found
    )
    pace = Pace()
    async with AsyncExitStack() as stack:
        stack.enter_context(suppress(ZkError, TimeoutError))
        other = config.zookeeper_of_acls()
        if other is not None:
            stack.push_async_callback(other.close)
            await other.start(seconds)
        async with asyncio.timeout(seconds):
            async for pattern, found in AclStore(other or zk).read_all():
                await pace.through(authorizer.cache.put(pattern, None if isinstance(found, BadZnode) else found))
            authorizer.loaded = True
    return authorizer


async def _rights(zk: ZooKeeper, config: ServerConfig) -> list[Finding]:
    topics = await _readable_children(zk, znode_paths.TOPICS)
    configs = {
        kind: await _readable_children(zk, znode_paths.config_type(kind))
        for kind in znode_paths.CONFIG_TYPES
        if kind != TOPICS
    }
    acls = config.authorizer is not None and config.authorizer.zookeeper_url is None
    wanted = znode_rights.needed_if_present(topics, configs, acls=acls)
    return await znode_rights.find(zk, wanted, sets_acl=config.zookeeper_access.acl_of is secured)


async def _readable_children(zk: ZooKeeper, path: str) -> list[str]:
    try:
        return await read_state.children(zk, path)
    except NoAuth:
        return []
