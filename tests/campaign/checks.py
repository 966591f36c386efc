"""What has to hold of a cluster at rest. Each check gives the differences that it finds: none where all is well."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from .facts import Facts, Held, Name, View
from .generator import FEWEST_REPLICAS, MOST_REPLICAS
from .history import Assigned
from .steps import TOLERATED
from .stock_coordinators import TOPIC

UNTOLD_S = 15.0
"""A replica that was dropped so shortly before its broker went away may not have been stopped any more: a failover
takes a session of 7 s, and a busy machine more."""

QUIET_S = 60.0
"""Nothing may have been written for so long to a log whose broker was there: the last record of a partition that no
producer writes to any more, or of a replica that had not caught up."""


def leftover_znodes(facts: Facts) -> list[str]:
    """Nothing is queued, requested, leased, being deleted or announced."""
    return [f"{path} exists" for path in facts.leftovers]


def throttles(facts: Facts) -> list[str]:
    return [f"{entity} has {configs}" for entity, configs in sorted(facts.throttles.items())]


def defaults(facts: Facts) -> list[str]:
    """No cluster-wide config of brokers is set: whatever was asked for would end them."""
    return [f"all brokers have {name}={value}" for name, value in sorted(facts.defaults.items())]


def left_alone(facts: Facts) -> list[str]:
    """The controller takes every topic up, whatever its znode was before."""
    return [f"{topic} is left alone" for topic in sorted(facts.left_alone)]


def own_ids(facts: Facts) -> list[str]:
    """Each topic has an id that no other has."""
    written = _with_one_id({(topic.id, name) for name, topic in facts.topics.items()})
    return [f"ZooKeeper has {one}" for one in written] + shared_ids(facts.views)


def shared_ids(views: Mapping[int, View]) -> list[str]:
    """Topics that a node shows by one id."""
    return [
        f"node {node} shows {one}"
        for node, view in sorted(views.items())
        for one in _with_one_id({(text.split()[1], name[0]) for name, text in view.partitions.items()})
    ]


def _with_one_id(ids: Collection[tuple[str, str]]) -> list[str]:
    names: dict[str, list[str]] = defaultdict(list)
    for id_, name in sorted(ids):
        names[id_].append(name)
    return [f"topics {', '.join(shared)} by the id {id_}" for id_, shared in names.items() if len(shared) > 1]


def expected_topics(facts: Facts, expected: Mapping[str, int]) -> list[str]:
    """Exactly the topics that were created and not deleted, with as many partitions as they were given.

    Internal topics (whose names begin with __) are nobody's.
    """
    found = {name: len(topic.replicas) for name, topic in facts.topics.items() if not name.startswith("__")}
    return [
        f"{name} has {found.get(name, 0)} partitions instead of {expected.get(name, 0)}"
        for name in sorted(found.keys() | expected.keys())
        if found.get(name) != expected.get(name)
    ]


def moves(facts: Facts) -> list[str]:
    """No partition moves, and all replicas are those of brokers."""
    return [
        f"{name}-{index} moves: {topic.replicas[index]}"
        for name, topic in sorted(facts.topics.items())
        for index in sorted(topic.moving)
    ]


def leaders(facts: Facts) -> list[str]:
    """No partition is without a leader although a replica in sync is alive."""
    return [
        f"{name[0]}-{name[1]} has no leader though {sorted(able)} could lead: {facts.states.get(name)}"
        for name, able in sorted(needlessly_leaderless(facts, facts.live).items())
    ]


def needlessly_leaderless(facts: Facts, able: Collection[int]) -> dict[Name, set[int]]:
    """Partitions whose leader is not alive, and their replicas in sync on the brokers that are able to lead.

    Nobody leads a topic any more that is being deleted, however long that takes.
    """
    found = {}
    for name, state in facts.states.items():
        candidates = set(state.isr) & set(able)
        if state.leader not in facts.live and candidates and name[0] not in facts.deleting:
            found[name] = candidates
    return found


def in_sync(facts: Facts) -> list[str]:
    """Every partition has as many replicas as are drawn, a state, a live leader, and all its replicas in sync."""
    found = []
    for topic_name, topic in sorted(facts.topics.items()):
        for index, replicas in sorted(topic.replicas.items()):
            state = facts.states.get((topic_name, index))
            if not FEWEST_REPLICAS <= len(set(replicas)) == len(replicas) <= MOST_REPLICAS:
                wanted = f"{FEWEST_REPLICAS} or {MOST_REPLICAS}"
                found.append(f"{topic_name}-{index} should have {wanted} replicas: {replicas}")
            if state is None:
                found.append(f"{topic_name}-{index} has no state")
            elif sorted(state.isr) != sorted(replicas) or state.leader not in state.isr:
                found.append(f"{topic_name}-{index} has the replicas {replicas}, and {state}")
    return found


def coordinators(facts: Facts) -> list[str]:
    """No broker coordinates the transactions of a partition that it never loads: its producers would wait forever."""
    return [
        f"broker {broker} leads {name}-{index}, and never loads it"
        for (name, index), broker in sorted(stuck_coordinators(facts).items())
    ]


def stuck_coordinators(facts: Facts) -> dict[Name, int]:
    """Partitions of transactions, and their leaders that never load them."""
    return {
        (TOPIC, index): broker
        for broker, index in facts.unloaded
        if (state := facts.states.get((TOPIC, index))) is not None and state.leader == broker
    }


def metadata(facts: Facts) -> list[str]:
    """Every node shows the same partitions, those of ZooKeeper, and the same brokers and controller.

    Tolerated: a partition that was deleted while the node was away, if another controller was elected since.
    """
    found = []
    written = {(name, index) for name, topic in facts.topics.items() for index in topic.replicas}
    nodes = sorted(facts.views)
    controllers = {node: facts.views[node].controller for node in nodes}
    if len(set(controllers.values())) > 1:
        found.append(f"the controller is, by node: {controllers}")
    for node in nodes:
        view = facts.views[node]
        if missing := facts.live - view.brokers:
            found.append(f"node {node} does not show the brokers {sorted(missing)}")
        found += [f"node {node} does not show {name}" for name in sorted(written - view.partitions.keys())]
        found += [
            f"node {node} shows {name}, which does not exist"
            for name in sorted(view.partitions.keys() - written)
            if not ("forgotten deletions" in TOLERATED and _is_forgotten(node, name[0], facts))
        ]
    for name in sorted(written):
        shown = {node: facts.views[node].partitions.get(name) for node in nodes}
        if len(set(shown.values())) > 1:
            found.append(f"{name} is shown differently: {shown}")
        state = facts.states.get(name)
        topic = facts.topics[name[0]]
        if state is not None and nodes and (one := shown[nodes[0]]) is not None:
            truth = f"leader {state.leader} epoch {state.leader_epoch} replicas {list(topic.replicas[name[1]])} "
            truth += f"isr {sorted(state.isr)}"
            if truth not in one:
                found.append(f"{name} is shown as {one}, ZooKeeper has {truth}")
    return found


def _is_forgotten(node: int, topic: str, facts: Facts) -> bool:
    """Whether nobody could tell the node of a deletion: who deleted the topic was not the controller any more when the
    node came back."""
    return any(
        one.begin - UNTOLD_S <= deleted.at <= elected <= one.end
        for deleted in facts.assigned
        if deleted.name == topic
        for one in facts.absences
        if one.broker == node
        for elected in facts.elections
    )


def directories(facts: Facts, edited: Collection[str] = ()) -> list[str]:
    """Each replica has one directory, with its topic's id; no other directory of a replica is in any log dir.

    Tolerated: a directory of a topic of `edited`, whose replicas somebody has edited in ZooKeeper; one whose replica
    was dropped while its broker was away, one that a stock controller took away without a word, and an empty one that a
    disturbed broker began.
    """
    wanted: dict[tuple[int, str], str] = {}
    for name, topic in facts.topics.items():
        for index, replicas in topic.replicas.items():
            wanted |= {(broker, f"{name}-{index}"): topic.id for broker in replicas}
    places: dict[tuple[int, str], list[str]] = defaultdict(list)
    found = []
    for held in facts.held:
        expected = wanted.get((held.broker, held.name))
        if "begun logs" in TOLERATED and _is_begun(held, facts, is_replica=expected is not None):
            continue
        is_wanted = expected is not None and held.topic_id == expected
        if expected is None and "logs of edited topics" in TOLERATED and held.name.rpartition("-")[0] in edited:
            continue
        if not is_wanted and "strays" in TOLERATED and _is_stray(held, facts):
            continue
        places[held.broker, held.name].append(held.log_dir)
        where = f"broker {held.broker} has {held.log_dir}/{held.name}"
        if expected is None:
            found.append(f"{where}, and is no replica of it")
        elif held.topic_id != expected:
            found.append(f"{where} of the topic {held.topic_id}, which now has the id {expected}")
    found += [f"broker {b} has no directory {name}" for b, name in sorted(wanted.keys() - places.keys())]
    found += [f"broker {b} has {name} in {dirs}" for (b, name), dirs in sorted(places.items()) if len(dirs) > 1]
    return found


def _is_begun(held: Held, facts: Facts, *, is_replica: bool) -> bool:
    """Whether the broker has made a directory and failed before it made the log: its log says so, or it was away at
    some time.

    Its second try may choose another of its log dirs, and a later StopReplica deletes the log there
    (LogManager.getOrCreateLog). While the broker has the replica and its log says nothing, such a directory is a
    difference: the broker would find two logs of it at its next start, and end.
    """
    has_said = (held.broker, held.name) in facts.given_up
    return held.is_empty and (has_said or (not is_replica and any(one.broker == held.broker for one in facts.absences)))


def _is_stray(held: Held, facts: Facts) -> bool:
    return _is_untold(held, facts) or _is_stray_of_an_absence(held, facts)


def _is_untold(held: Held, facts: Facts) -> bool:
    """Whether a stock controller took the replica away without a word, and nobody has given it to the broker since."""
    given = max(
        (one.at for one in facts.assigned if one.name == held.name and held.broker in one.replicas), default=0.0
    )
    return any(one.name == held.name and held.broker not in one.replicas and one.at >= given for one in facts.untold)


def _is_stray_of_an_absence(held: Held, facts: Facts) -> bool:
    """Whether the broker was away when the replica was dropped, which events tell.

    A broker that was frozen goes on with what it led: its coordinator may write to the log afterwards. Where no event
    tells of the drop (a stock controller made it, or a server was killed before it wrote the event), the broker must
    have been away after the last record was written, and have stopped writing because of that; or it was away when the
    last move began of which anybody tells.
    """
    drops = _drops(held, facts.assigned)
    begun = max((one.at for one in facts.assigned if one.name == held.name), default=-1.0)
    for one in facts.absences:
        if one.broker == held.broker:
            stopped = held.written < one.end and (one.begin - QUIET_S <= held.written or one.begin <= begun <= one.end)
            if not drops and stopped:
                return True
            if any(one.begin - UNTOLD_S <= dropped <= one.end for dropped in drops):
                return True
    return False


def _drops(held: Held, assigned: Iterable[Assigned]) -> list[float]:
    """When the replica was taken from the broker, as far as events tell, since it was last given to it.

    More than one where a topic of its name was created again: it may be of the one before.
    """
    topic = held.name.rpartition("-")[0]
    drops: list[float] = []
    is_replica: bool | None = None
    for one in sorted(assigned, key=lambda one: one.at):
        if one.name not in (held.name, topic):
            continue
        if held.broker in one.replicas:
            drops = []
        elif is_replica is not False:
            drops.append(one.at)
        # Nobody tells which replicas a topic has that is created again.
        is_replica = None if one.name == topic else held.broker in one.replicas
    return drops


def server_logs(logs: Mapping[str, str]) -> list[str]:
    """No server of ours has printed a traceback."""
    found = Counter(
        f"{name}: {trace.strip().splitlines()[-1][:200] if trace.strip() else ''}"
        for name, log in logs.items()
        for trace in _tracebacks(log)
    )
    return [f"{times} times in {line}" for line, times in sorted(found.items())]


def _tracebacks(log: str) -> list[str]:
    """The text of each traceback to the line that names its error."""
    found = []
    for part in log.split("Traceback (most recent call last):\n")[1:]:
        lines = part.splitlines()
        end = next((number for number, line in enumerate(lines) if not line.startswith(" ")), len(lines) - 1)
        found.append("\n".join(lines[: end + 1]))
    return found
