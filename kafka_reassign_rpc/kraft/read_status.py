"""What the state log and the cluster say to somebody who does not lead: for commands that change nothing."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from kafka_reassign_rpc.client.client_settings import ClientSettings
from kafka_reassign_rpc.core.state.cluster import Cluster, SoftState
from kafka_reassign_rpc.core.status.views import ControllerView
from kafka_reassign_rpc.kraft import cluster_seen
from kafka_reassign_rpc.kraft.ports import Look
from kafka_reassign_rpc.kraft.round_records import Intents
from kafka_reassign_rpc.kraft.standby import ServerName, after, claimant
from kafka_reassign_rpc.kraft.state_log.log_format import Kind
from kafka_reassign_rpc.kraft.state_log.log_reading import LogRecord
from kafka_reassign_rpc.kraft.state_log.state_log import StateLog
from kafka_reassign_rpc.kraft.upstream import Upstream
from kafka_reassign_rpc.kraft.upstream_cluster import UpstreamCluster
from kafka_reassign_rpc.preflight.read_status import SERVER, ClusterStatus, ControllerStatus, parts_of
from kafka_reassign_rpc.support.turns import in_turns
from kafka_reassign_rpc.support.wall_clock import now_ms

SILENT_MS = 15_000
"""Nobody leads who has written nothing for so long: a heartbeat comes every third of state.log.lead.ms."""
NOBODY_LEADS = "no server leads: the state log has had no sign of life for {:.0f} s"
NOBODY_HAS_LED = "no server leads: the state log is empty"
HINT = "this is what the state log has; `kafka-reassign status` asks the servers, which know progress and events, too"


class Replayed(NamedTuple):
    """server    who led last, by its name; "": no server
    term      the offset of its claim
    since_ms  when it claimed the log
    heard_ms  when it wrote last, by the brokers' clocks

    None where the log is empty.
    """

    intents: Intents
    server: str = ""
    term: int | None = None
    since_ms: int | None = None
    heard_ms: int | None = None


class Standing(NamedTuple):
    replayed: Replayed
    look: Look
    cluster_id: str


@asynccontextmanager
async def seen(configs: Mapping[str, Any], protocol: str) -> AsyncIterator[tuple[Upstream, UpstreamCluster]]:
    """The cluster of these configs, which is told nothing. Raises Unreachable, Unauthenticated."""
    upstream = Upstream(configs, lambda: False)
    await upstream.start()
    try:
        yield upstream, UpstreamCluster(upstream, protocol)
    finally:
        await upstream.close()


async def replayed(settings: ClientSettings) -> Replayed:
    """Raises LogError: LogRefused where there is no log."""
    log = StateLog(settings)
    await log.open(to_read=True)
    try:
        return await replay(log)
    finally:
        await log.close()


async def replay(log: StateLog) -> Replayed:
    """To the end that the log has now."""
    found = Replayed(Intents())
    async for some in log.read(to_end=True):
        for record in some:
            if not isinstance(record, LogRecord):
                continue
            intents, leader = await after(found.intents, record)
            term, since = record.term.claim_offset, record.timestamp_ms if found.since_ms is None else found.since_ms
            if record.kind is Kind.CLAIM:
                leader, since = claimant(record), record.timestamp_ms
            server = found.server if leader is None else leader.name
            found = Replayed(intents, server, term, since, record.timestamp_ms)
    return found


async def stand(settings: ClientSettings, configs: Mapping[str, Any]) -> Standing:
    """Raises LogError, LookFailed, Unreachable, Unauthenticated."""
    log = await replayed(settings)
    async with seen(configs, settings.configs.security_protocol) as (_, cluster):
        look = await cluster.look(None)
        return Standing(log, look, cluster.cluster_id)


def leader_of(found: Replayed, now: int) -> ServerName | None:
    """None: no server leads."""
    is_heard = found.heard_ms is not None and now - found.heard_ms < SILENT_MS
    return ServerName.of(found.server) if is_heard else None


async def cluster_of(log: Replayed, look: Look) -> Cluster:
    return await in_turns(cluster_seen.cluster_of(look, log.intents, SoftState(kraft=look.kraft)))


async def status(standing: Standing) -> ClusterStatus:
    now, found = now_ms(), standing.replayed
    leader, cluster = leader_of(found, now), await cluster_of(found, standing.look)
    if leader is None:
        silent = NOBODY_HAS_LED if found.heard_ms is None else NOBODY_LEADS.format((now - found.heard_ms) / 1000)
        parts = parts_of(cluster, standing.cluster_id, ControllerView(), "", silent)
        return ClusterStatus(None, parts, None, HINT)
    controller = ControllerStatus(leader.id, SERVER, (str(leader.at),), found.term, found.since_ms)
    view = ControllerView(leader.id, found.term, found.since_ms)
    return ClusterStatus(controller, parts_of(cluster, standing.cluster_id, view, "controller", ""), None, HINT)
