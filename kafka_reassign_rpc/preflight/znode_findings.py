"""What follows from the content of ZooKeeper: who controls, what collides, what a server would do first. Pure.

While no KRaft controller has the cluster: see `under_kraft_findings`.
"""

from collections.abc import Iterator, Sequence

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.controller.lifecycle.server_registration import held_text
from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.topics.missing_replicas import held_by_brokers
from kafka_reassign_rpc.preflight import znode_rights
from kafka_reassign_rpc.preflight.findings import Finding, fine, some, some_brokers, unsafe, warning
from kafka_reassign_rpc.preflight.read_state import ControllerNow, FirstDecisions, FoundState
from kafka_reassign_rpc.preflight.read_status import utc
from kafka_reassign_rpc.preflight.settings_findings import of_settings
from kafka_reassign_rpc.support.counted import agreeing, counted, plural, those
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.zookeeper import znode_paths


def findings(state: FoundState, first: FirstDecisions, own_id: int, takeover: Takeover) -> Iterator[Finding]:
    yield _cluster(state)
    yield from registrations(state)
    yield from _topics_and_brokers(state)
    yield _own_id(state, own_id)
    yield _migration(state)
    yield _controller(state.controller, state.cluster, own_id, takeover)
    yield from _moves(state, first)
    yield from _deletions(state)
    yield from _leftovers(state)
    yield from of_settings(state.cluster)
    yield _writes(state)


def _cluster(state: FoundState) -> Finding:
    topics, brokers = len(state.cluster.topics), len(state.cluster.brokers)
    if state.cluster_id is None and not state.registered:
        return unsafe(
            "cluster",
            "no Kafka cluster has ever used this chroot",
            "give the zookeeper.connect of the brokers, with their chroot",
        )
    if not brokers:
        return unsafe(
            "cluster",
            f"cluster {state.cluster_id} has {counted(topics, 'topic')} and no registered broker: what its brokers"
            " speak, have set and allow cannot be found out",
            "check the chroot, or start the brokers and look again",
        )
    return fine("cluster", f"cluster {state.cluster_id} has {counted(topics, 'topic')} on {counted(brokers, 'broker')}")


def registrations(state: FoundState) -> Iterator[Finding]:
    known = {str(broker) for broker in state.cluster.brokers}
    unreadable = sorted(set(state.registered) - known)
    if unreadable:
        yield unsafe(
            table.REGISTRATIONS.subject,
            f"the registration{plural(len(unreadable))} of {those(unreadable)} cannot be understood:"
            f" {table.REGISTRATIONS.dies}",
            table.REGISTRATIONS.cure,
        )


def _topics_and_brokers(state: FoundState) -> Iterator[Finding]:
    broken = sorted(state.cluster.unreadable.keys() - state.cluster.twins.keys())
    if broken:
        yield warning(
            "topics",
            f"the znodes of topics cannot be understood: {some(broken)}. While they are there, {table.TOPICS.dies}",
            f"{table.TOPICS.cure}: a server leaves these topics as they are",
        )
    held, coming = (found - set(state.cluster.brokers) for found in _replicas(state.cluster))
    if held:
        yield warning(
            "lost-brokers",
            f"{some_brokers(held, 'hold')} replicas and {agreeing(len(held), 'are')} not registered",
            "bring them back; with failure.interval.ms a server moves their replicas to other brokers",
        )
    if awaited := sorted(coming - held):
        yield warning(
            "awaited-brokers",
            f"moves in flight wait for broker{plural(len(awaited))} {some(awaited)}: not registered, without replicas",
            "bring them back, or cancel these moves, or give them another target: nothing repairs that",
        )
    if state.cluster.failed_log_dirs:
        yield warning(
            "failed-log-dirs",
            f"{some_brokers(state.cluster.failed_log_dirs, 'have')} lost log dirs, as a controller has noticed",
            "mend the disks and restart the brokers; with failure.interval.ms a server moves their replicas elsewhere",
        )


def _replicas(cluster: Cluster) -> tuple[set[int], set[int]]:
    """The brokers that hold replicas, and those that moves in flight bring some."""
    held, coming = set[int](), set[int]()
    for topic in cluster.topics.values():
        for one in topic.partitions.values():
            coming.update(one.adding)
            held.update(one.sources)
    return held, coming


def _own_id(state: FoundState, own_id: int) -> Finding:
    advice = "choose another --broker-id"
    owner = state.controller.owner
    if str(own_id) in state.registered:
        return unsafe("broker-id", f"{own_id} is the id of a registered broker", advice)
    if owner is not None and owner.session and owner.id == own_id:
        return unsafe("broker-id", f"{own_id} is the id of the present controller, another server", advice)
    if str(own_id) in state.servers:
        stopped = "stop that server; after a kill its session has to end"
        return unsafe("broker-id", f"{own_id} is the id of another server that runs", f"{advice}, or {stopped}")
    held = list(held_by_brokers(state.cluster.topics.values(), own_id, is_ours=str(own_id) in state.taken_ids))
    if held:
        return unsafe("broker-id", held_text(own_id, held), advice)
    return fine("broker-id", f"nothing else has the id {own_id}")


def _migration(state: FoundState) -> Finding:
    odd = state.migration.odd
    if odd is not None:
        return warning("migration", *odd)
    return fine("migration", "no migration to KRaft has begun")


def _controller(now: ControllerNow, cluster: Cluster, own_id: int, takeover: Takeover) -> Finding:
    least = max((one.controller_epoch for _, _, one in cluster.all_partitions()), default=-1)
    if now.problem is not None:
        return unsafe("controller", *controller_election.invalid_epoch(now.problem, max(least, 0)))
    owner = now.owner
    odd = None if owner is None else controller_election.invalid_owner(owner)
    if owner is not None and odd is not None:
        return (unsafe if owner.kraft_epoch is None else warning)("controller", *odd)
    lowered = controller_election.lowered_epoch(now.epoch, least)
    if lowered is not None:
        return warning("controller", *lowered)
    if owner is None:
        if takeover is Takeover.NEVER:
            return warning(
                "controller", "there is none, and this server never takes over", "start a broker, or take over"
            )
        return fine("controller", "there is none: a server is elected as soon as it starts")
    since = f"of epoch {now.epoch}" + ("" if now.since_ms is None else f", since {utc(now.since_ms)}")
    if owner.id in cluster.brokers:
        what = {
            Takeover.NEVER: "a server always stands by",
            Takeover.VACANT: "a server stands by until it ends",
            Takeover.ALWAYS: "a server takes the controllership from it",
        }[takeover]
        return fine("controller", f"broker {owner.id} {since}: {what} (controller.takeover={takeover})")
    if owner.endpoints and owner.id != own_id:
        places = some(str(Address(one.host, one.port)) for one in owner.endpoints)
        return fine("controller", f"server {owner.id} at {places}, {since}: another server stands by")
    return warning(
        "controller",
        f"{owner.id} {since}, is no registered broker",
        "wait for the end of its session; a server stands by until then",
    )


def _moves(state: FoundState, first: FirstDecisions) -> Iterator[Finding]:
    cluster = state.cluster
    moving = sum(map(len, cluster.moving.values()))
    some_move = "1 partition moves: a server carries this move on"
    if moving != 1:
        some_move = f"{moving} partitions move: a server carries these moves on" if moving else "nothing moves"
    yield fine("moves", some_move)
    if first.starts:
        yield warning(
            "new-moves",
            f"at once a server would start {counted(len(first.starts), 'move')} that"
            f" {agreeing(len(first.starts), 'wait')} in znodes ({_shown(first.starts)})",
            f"delete {znode_paths.REASSIGN_PARTITIONS} or the queue if they are not wanted",
        )
    if first.ends:
        yield fine("completions", f"at once a server would complete or cancel {counted(len(first.ends), 'move')}")
    if first.leaders:
        yield fine(
            "leaders",
            f"at once a server would elect leaders for {counted(len(first.leaders), 'partition')}"
            f" ({_shown(first.leaders)})",
        )


def _shown(names: Sequence[tuple[str, int]]) -> str:
    return some(f"{topic}-{index}" for topic, index in names)


def _deletions(state: FoundState) -> Iterator[Finding]:
    if state.marks:
        yield warning(
            "deletions",
            f"{counted(len(state.marks), 'topic', 'are')} marked for deletion and would be deleted"
            f" ({some(sorted(state.marks))})",
            f"delete the marks under {znode_paths.DELETE_TOPICS} if these topics are to stay",
        )
    else:
        yield fine("deletions", "no topic waits for its deletion")


def _leftovers(state: FoundState) -> Iterator[Finding]:
    """Requests of others in znodes that are still there."""
    cluster = state.cluster
    found: list[tuple[str, str]] = []
    if cluster.batch is not None:
        found.append((znode_paths.REASSIGN_PARTITIONS, counted(len(cluster.batch.entries), "move")))
    if cluster.queue:
        unapproved = f", {cluster.queue.unapproved} for approval" if cluster.queue.unapproved else ""
        found.append(("the queue", counted(len(cluster.queue), "move") + unapproved))
    if cluster.requests:
        found.append((znode_paths.REASSIGNMENT_REQUESTS, counted(len(cluster.requests), "request")))
    if cluster.cancel_all is not None:
        found.append((znode_paths.CANCEL_IN_PROGRESS, "cancels every move of reassign_partitions"))
    if cluster.disabled_by_znode:
        found.append((znode_paths.REASSIGN_CANCEL, "no new move starts"))
    if state.election:
        found.append((znode_paths.PREFERRED_REPLICA_ELECTION, "elections of preferred leaders"))
    if found:
        yield warning(
            "leftovers",
            "there are requests of others: " + "; ".join(f"{path} ({what})" for path, what in found),
            "delete those that are not wanted any more",
        )
    else:
        yield fine("leftovers", "there is no request of others under /admin")
    for problem in state.problems:
        yield warning("leftovers", problem, "correct or delete it")


def _writes(state: FoundState) -> Finding:
    made = f"creates {', '.join(sorted(state.missing))}" if state.missing else "creates none at its start"
    under_admin = f"{znode_paths.ADMIN}/"
    written = sorted(path for path in znode_rights.written() if not path.startswith(under_admin))
    return fine(
        "writes",
        f"a server {made}; it never registers in {znode_paths.BROKER_IDS}; as the controller it writes"
        f" {znode_paths.CONTROLLER}, {', '.join(written)}, and what is below them",
    )
