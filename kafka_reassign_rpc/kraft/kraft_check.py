"""Whether a server may be put in front of a cluster: its mode, its rights, its brokers and its state log. Changes
nothing.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from kafka_reassign_rpc.client.client_errors import Unauthenticated, Unreachable
from kafka_reassign_rpc.client.client_settings import ClientSettings
from kafka_reassign_rpc.client.request_routing import connect
from kafka_reassign_rpc.core.acls.acl_binding import AclOperation
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.kraft import read_status
from kafka_reassign_rpc.kraft.kraft_process import NEEDED
from kafka_reassign_rpc.kraft.ports import Look, LookFailed
from kafka_reassign_rpc.kraft.read_status import Replayed
from kafka_reassign_rpc.kraft.state_log import TOPIC, log_topic
from kafka_reassign_rpc.kraft.state_log.log_errors import LogError, LogUnavailable, NotBrokers
from kafka_reassign_rpc.preflight.findings import Finding, fine, some, some_brokers, unsafe, warning
from kafka_reassign_rpc.preflight.settings_findings import of_kraft_settings
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.wall_clock import now_ms

TOOL = "kafka-topics.sh "
SIGN_IN = "give --command-config FILE with the server's login, and addresses of brokers"


class Facts(NamedTuple):
    """allowed  on the cluster; log_says: what a server would change of the state log, or why it would not start
    log      None: there is none yet; `cluster`: the look with what the log says on top
    """

    allowed: Collection[AclOperation]
    look: Look
    log_says: list[str] | LogError
    log: Replayed | None = None
    cluster: Cluster | None = None


class _SeesNothing(Exception):
    """The login lacks DESCRIBE on the cluster."""

    def __init__(self, allowed: Collection[AclOperation]) -> None:
        super().__init__()
        self.allowed = allowed


async def check(settings: ClientSettings, configs: Mapping[str, Any], server: int, lost: str | None) -> list[Finding]:
    """`lost`: what clients lose by the listener of this server."""
    try:
        facts = await _facts(settings, configs)
    except _SeesNothing as error:
        return [_rights(error.allowed)]
    except LogError as error:
        return [unsafe("cluster", str(error), "a cluster in ZooKeeper mode is checked with --zookeeper-connect")]
    except (KafkaError, LookFailed) as error:
        return [unsafe("cluster", f"it does not answer: {error}", SIGN_IN)]
    return list(findings(facts, server, lost, now_ms()))


async def _facts(settings: ClientSettings, configs: Mapping[str, Any]) -> Facts:
    """Raises _SeesNothing; LogRefused for a cluster in ZooKeeper mode; KafkaError, LookFailed."""
    router = await connect(settings)
    try:
        async with read_status.seen(configs, settings.configs.security_protocol) as (upstream, cluster):
            allowed = await upstream.allowed()
            if AclOperation.DESCRIBE not in allowed:
                raise _SeesNothing(allowed)
            await log_topic.require_kraft(router)
            look = await cluster.look(None)
        try:
            says: list[str] | LogError = await log_topic.examined(router, TOPIC)
            is_there = await log_topic.is_there(router, TOPIC)
            log = await read_status.replayed(settings) if is_there else None
        except LogError as error:
            return Facts(allowed, look, error)
        except (Unreachable, Unauthenticated) as error:
            return Facts(allowed, look, LogUnavailable(str(error)))
    finally:
        await router.close()
    return Facts(allowed, look, says, log, None if log is None else await read_status.cluster_of(log, look))


def findings(facts: Facts, server: int, lost: str | None, now: int) -> Iterator[Finding]:
    yield from _of_cluster(facts, server)
    yield from _of_log(facts, now)
    if facts.cluster is not None:
        yield from of_kraft_settings(facts.cluster)
    theirs = sorted(facts.look.moves.keys() - _ours(facts))
    if theirs:
        names = [f"{one.topic}-{one.partition}" for one in theirs]
        text = f"{counted(len(theirs), 'move')} of others {agreeing(len(theirs), 'are')} in flight ({some(names)})"
        yield fine("moves", f"{text}: a server shows them, and leaves them alone")
    if lost is not None:
        yield warning("listeners", lost, "give the listener TLS, or an address that only this machine reaches")


def _of_cluster(facts: Facts, server: int) -> Iterator[Finding]:
    brokers, fenced = facts.look.brokers, facts.look.kraft.fenced
    yield fine("cluster", f"it is in KRaft mode, with {counted(len(brokers), 'live broker')}")
    if server in brokers.keys() | fenced:
        yield unsafe("broker.id", f"broker {server} has the id of this server", "give it another one: --broker-id")
    if fenced:
        yield warning(
            "brokers", f"{some_brokers(fenced, 'are')} fenced: no move to them starts", "look why they are down"
        )
    yield _rights(facts.allowed)


def _rights(allowed: Collection[AclOperation]) -> Finding:
    if missing := NEEDED - {*allowed}:
        names = ", ".join(sorted(one.name for one in missing))
        return unsafe(
            "rights", f"the login of this server lacks {names} on the cluster", "grant it: docs/kraft.md#rights"
        )
    return fine("rights", "the login of this server has its rights on the cluster")


def _of_log(facts: Facts, now: int) -> Iterator[Finding]:
    if isinstance(facts.log_says, NotBrokers):
        yield unsafe("addresses", NotBrokers.WHAT, NotBrokers.ADVICE)
        return
    if isinstance(facts.log_says, LogError):
        advice = "wait until brokers answer" if isinstance(facts.log_says, LogUnavailable) else "docs/state-log.md"
        text, tool, arguments = str(facts.log_says).partition(TOOL)  # as it can be typed
        commands = (f"{tool}{arguments}",) if tool else ()
        yield unsafe("state-log", text.removesuffix(": "), advice, commands)
        return
    for one in facts.log_says:
        yield warning("state-log", one, "nothing, if that is right")
    if facts.log is not None:
        waiting = sum(len(part.entries) for part in facts.log.intents.queue.values())
        leader = read_status.leader_of(facts.log, now)
        leads = f"server {leader} leads" if leader is not None else "no server leads"
        moves = counted(len(facts.log.intents.moves), "move")
        yield fine("state-log", f"it can be read: {leads}, {moves} in flight, {waiting} waiting")
    yield fine("transactional-id", "WRITE on it is tried only at the start, since that takes the lead from a server")


def _ours(facts: Facts) -> Collection[Any]:
    return facts.log.intents.moves.keys() if facts.log is not None else frozenset()
