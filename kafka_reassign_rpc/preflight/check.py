"""The check of a cluster: asks ZooKeeper and the brokers, each within a time limit, looks at the server's own files,
and changes nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from kafka_reassign_rpc.controller.lifecycle.own_tls import certificates
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT, TOPICS
from kafka_reassign_rpc.core.status.own_certificates import CURE, ENDS_SOON_DAYS, OwnCertificates
from kafka_reassign_rpc.preflight import (
    ask_brokers,
    authorizer_findings,
    broker_findings,
    kraft_findings,
    own_znodes,
    read_state,
    restart_findings,
    under_kraft_findings,
    unique_findings,
    znode_findings,
    znode_rights,
)
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.authorizer_findings import BrokerLogins
from kafka_reassign_rpc.preflight.findings import Cures, Finding, every, filled, fine, unsafe, warning
from kafka_reassign_rpc.preflight.read_state import FoundState
from kafka_reassign_rpc.security.secret_files import SecretFile, readable
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.support.typed_commands import Connection
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.access import secured
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoAuth, ZkError

_NOTHING_KNOWN = BrokerLogins()
NAMED = 3
"""Brokers that a command names: any of them knows the others."""

Look = Callable[[ZooKeeper, list[Finding]], Awaitable[None]]
"""Adds to the findings. Raises ZkError, TimeoutError, NoChroot."""


class NoChroot(Exception):
    """The ZooKeeper is not that of the cluster, or the chroot is misspelt."""


async def check(config: ServerConfig, seconds: float, logins: BrokerLogins = _NOTHING_KNOWN) -> list[Finding]:
    """Finds out whether a server with this configuration could control the cluster.

    seconds   the limit for a ZooKeeper session, for all reads from ZooKeeper, and for each broker
    """
    return await with_zookeeper(config, seconds, lambda zk, found: _check(zk, found, config, seconds, logins))


async def check_for_kraft(config: ServerConfig, seconds: float, flags: str = "") -> list[Finding]:
    """Finds out whether the cluster could begin its migration to KRaft. Arguments are those of `check`.

    flags   those with which our other commands reach ZooKeeper as this check does
    """
    return await with_zookeeper(config, seconds, lambda zk, found: _check_for_kraft(zk, found, config, seconds, flags))


async def with_zookeeper(config: ServerConfig, seconds: float, look: Look) -> list[Finding]:
    """Adds whether ZooKeeper answers at all to what `look` finds."""
    zk = ZooKeeper(
        config.zookeeper_connect, session_timeout_ms=config.session_timeout_ms, access=config.zookeeper_access
    )
    try:
        await zk.start(seconds)
    except ZkError as error:
        return [unsafe("zookeeper", str(error), "give the zookeeper.connect of the brokers")]
    found = [fine("zookeeper", f"{zk.connect} answers")]
    try:
        await look(zk, found)
    except NoChroot as error:
        found.append(unsafe("chroot", str(error), "give the zookeeper.connect of the brokers"))
    except NoAuth as error:
        advice = "give the brokers' login to ZooKeeper (docs/security-outward.md)"
        found.append(unsafe("zookeeper", f"it cannot be read: {error}", advice))
    except (ZkError, TimeoutError) as error:
        text = f"it cannot be read within {seconds:g} s ({error or 'no answer'})"
        found.append(unsafe("zookeeper", text, "look at ZooKeeper, or give a longer --timeout-ms"))
    finally:
        await zk.close()
    return found


@asynccontextmanager
async def reading(zk: ZooKeeper, seconds: float) -> AsyncIterator[None]:
    """Bounds the time of all reads. Raises NoChroot, TimeoutError."""
    async with asyncio.timeout(seconds):
        if zk.chroot and await zk.exists("/") is None:
            raise NoChroot(f"there is no chroot {zk.chroot} in this ZooKeeper")
        yield


async def _check_for_kraft(
    zk: ZooKeeper, found: list[Finding], config: ServerConfig, seconds: float, flags: str
) -> None:
    async with reading(zk, seconds):
        state = await read_state.read(zk)
        more = await own_znodes.read_migration_state(zk, state)
        restarts = await restart_findings.read(zk, state)
        standing = await ConfigStore(zk).get(BROKERS, DEFAULT)
    answers = await ask_brokers.ask_all(
        state.cluster.brokers.values(), config.links, f"check-{config.server_id}", seconds, standing
    )
    cures = cures_of(config, answers, flags)
    if not state.is_krafts:
        found += await _uniqueness(zk, state, config, seconds, cures)
        found += unique_findings.controller_ids(state, answers)
    found += filled([*kraft_findings.findings(state, more, restarts, answers, cures)], cures.brokers)


def cures_of(config: ServerConfig, answers: Sequence[BrokerAnswer], flags: str = "") -> Cures:
    """Commands reach the brokers where the check has reached them."""
    heard = [one.endpoint for one in answers if not one.problem]
    is_open = all(one.security_protocol == "PLAINTEXT" for one in heard)
    addresses = ",".join(str(Address(one.host, one.port)) for one in heard[:NAMED])
    return Cures(
        config.zookeeper_connect,
        Connection(addresses, None if is_open else "client.properties") if heard else None,
        "" if config.zookeeper_access.tls is None else "-zk-tls-config-file zookeeper-tls.properties",
        flags,
    )


async def _check(
    zk: ZooKeeper, found: list[Finding], config: ServerConfig, seconds: float, logins: BrokerLogins
) -> None:
    async with reading(zk, seconds):
        found += await _rights(zk, config)
        state = await read_state.read(zk)
        restarts = await restart_findings.read(zk, state)
        standing = await ConfigStore(zk).get(BROKERS, DEFAULT)
        if state.is_krafts:
            found.append(under_kraft_findings.taken_over(state))
            return
        first = await read_state.first_decisions(state.cluster, config.server_id, config.settings, now_ms())
    found += znode_findings.findings(state, first, config.server_id, config.takeover)
    answers = await ask_brokers.ask_all(
        state.cluster.brokers.values(), config.links, f"check-{config.server_id}", seconds, standing
    )
    cures = cures_of(config, answers)
    found += await _uniqueness(zk, state, config, seconds, cures)
    found[:] = filled(found, cures.brokers)
    found += unique_findings.nodes(state, answers, config.server_id, config.advertised or config.listeners)
    found += broker_findings.findings(
        answers,
        config.advertised or config.listeners,
        config.links.listener,
        state.marks,
        balances=config.broker_settings.get("auto.leader.rebalance.enable") is True,
        deletes=config.broker_settings.get("delete.topic.enable") is True,
        refuses=config.refuses_by_policy,
    )
    own = await asyncio.to_thread(certificates, config, config.advertised or config.listeners)
    found += of_certificates(own, now_ms() / 1000)
    found += restart_findings.of_brokers(state.cluster.broker_configs, answers, warning)
    found += restart_findings.of_topics(state.cluster.topic_configs, answers, warning)
    found += restart_findings.findings(state, restarts, cures, restart_findings.OF_CHECK, warning)
    found += authorizer_findings.findings(
        answers,
        config.advertised or config.listeners,
        await _authorizer(zk, config, seconds),
        logins,
        refuses=config.refuses_without_authorizer,
    )


async def _uniqueness(
    zk: ZooKeeper, state: FoundState, config: ServerConfig, seconds: float, cures: Cures
) -> list[Finding]:
    """Asks brokers only where topics have one id."""
    async with asyncio.timeout(2 * seconds):
        twins = await unique_findings.look(zk, state.cluster, config.links, f"check-{config.server_id}", seconds)
        names = await read_state.read_unique_names(zk)
    return [
        *unique_findings.topic_id_findings(state.cluster, twins, cures),
        *unique_findings.findings(state.cluster, names, cures),
    ]


async def _authorizer(zk: ZooKeeper, config: ServerConfig, seconds: float) -> AclAuthorizer | None:
    """Has the ACLs that can be read in time."""
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


SECRET_FILES, CERTIFICATES = "secret-files", "certificates"


def of_secret_files(files: Iterable[SecretFile]) -> Iterator[Finding]:
    """Says nothing where the settings name no file with a secret. Looks at the files."""
    all_files = list(files)
    found = readable(all_files)
    for one in found:
        yield warning(SECRET_FILES, one.problem, one.advice)
    if all_files and not found:
        count = len({file.path for file in all_files})
        yield fine(SECRET_FILES, f"no other user may read {counted(count, 'file')} with secrets that the settings name")


def of_certificates(found: OwnCertificates, now_s: float) -> Iterator[Finding]:
    """Whether brokers and clients would take them, and how long. Says nothing where no listener has TLS."""
    for one in found.handshakes:
        if one.fails:
            yield unsafe(CERTIFICATES, str(one), CURE)
        elif one.why:
            yield warning(CERTIFICATES, f"{one}, unless they trust another CA", CURE)
    for (use, part), days in sorted(found.days_left(now_s).items()):
        if days < ENDS_SOON_DAYS:
            which = "the certificate" if part == "own" else "a CA certificate above it"
            text = f"{use}: {which} {f'ends in {days:.0f} days' if days >= 0 else f'ended {-days:.0f} days ago'}"
            yield warning(CERTIFICATES, text, "renew it: the server takes a new file up within seconds")
    if found.handshakes and not any(one.why for one in found.handshakes):
        names = every(one.listener for one in found.handshakes)
        yield fine(CERTIFICATES, f"a TLS handshake with itself succeeds at each listener with TLS: {names}")
