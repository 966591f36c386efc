"""Whether brokers may go: asks ZooKeeper and the brokers, each within a time limit, and changes nothing; what follows,
as findings and as a document.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from kafka_reassign_rpc.controller.duties.progress_sampling import described_disks, sample_everything
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.core.brokers import departure
from kafka_reassign_rpc.core.brokers.departure import MOST_NAMED, Departure, Disks, Named
from kafka_reassign_rpc.core.config_values import INT32, number
from kafka_reassign_rpc.core.reassignment_algebra import MIN_INSYNC_REPLICAS
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.status.departures import losses_document
from kafka_reassign_rpc.preflight import ask_brokers, read_state, under_kraft_findings
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.check import reading, with_zookeeper
from kafka_reassign_rpc.preflight.findings import SHOWN, Finding, fine, some, unsafe, warning
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.human_units import size
from kafka_reassign_rpc.support.turns import in_turns
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper


async def check_departure(
    config: ServerConfig, seconds: float, away: Collection[int]
) -> tuple[list[Finding], Departure | None]:
    """Returns what is found, and the answer; None: it could not be asked for. Arguments are those of `check`."""
    answered: list[Departure] = []

    async def look(zk: ZooKeeper, found: list[Finding]) -> None:
        async with reading(zk, seconds):
            state = await read_state.read(zk)
        cluster = state.cluster
        if state.is_krafts:
            found.append(under_kraft_findings.taken_over(state))
            return
        client_id = f"check-{config.server_id}"
        answers = await ask_brokers.ask_all(cluster.brokers.values(), config.links, client_id, seconds, {})
        departure = await _departure(cluster, config, seconds, away, answers)
        answered.append(departure)
        found += findings(cluster, departure, answers)

    return await with_zookeeper(config, seconds, look), answered[0] if answered else None


async def _departure(
    cluster: Cluster,
    config: ServerConfig,
    seconds: float,
    away: Collection[int],
    answers: Collection[ask_brokers.BrokerAnswer],
) -> Departure:
    sample = await sample_everything(cluster, f"check-{config.server_id}", config.links, seconds)
    brokers = departure.brokers_of(cluster, described_disks(sample, at=0))
    partitions = departure.partitions_of(cluster, default_min_isr(answers))
    losses = await in_turns(departure.count_losses(partitions, {"": away}, brokers, MOST_NAMED))
    return Departure(sorted(away), losses[""], Disks(brokers).room(away, losses[""].replicas))


def default_min_isr(answers: Collection[ask_brokers.BrokerAnswer]) -> int:
    """The highest of all brokers: a partition's leader decides, and any broker may lead it."""
    values = (number(one.configs.get(MIN_INSYNC_REPLICAS, ""), 1, INT32) for one in answers)
    return max((one for one in values if one is not None), default=1)


_FIRST = "move it to other brokers first (`kafka-reassign-rpc plan drain`)"


def findings(cluster: Cluster, found: Departure, answers: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    yield from _brokers(cluster, found, answers)
    yield from _configs(answers)
    losses = found.losses
    yield _judged(
        losses.last_in_sync,
        unsafe,
        "last-in-sync",
        ("lose", "the last in-sync replica"),
        "nobody could read or write there",
        f"wait until other replicas are in sync, or {_FIRST}",
    )
    yield _judged(
        losses.below_min_isr,
        unsafe,
        "min-isr",
        ("fall", f"under {MIN_INSYNC_REPLICAS}"),
        "producers with acks=all could not write there",
        f"wait until other replicas are in sync, let fewer brokers go at a time, or {_FIRST}",
    )
    if losses.unknown.count:
        yield unsafe(
            "state",
            f"the state of {_named(losses.unknown)} cannot be read: what would be lost is not known",
            "look at these znodes (`kafka-reassign-rpc check` names what is wrong), and ask again",
        )
    yield _judged(
        losses.under_replicated,
        warning,
        "under-replicated",
        ("become", "under-replicated"),
        "",
        "bring the brokers back soon, or move their replicas to others first",
    )
    yield _judged(
        losses.lost_rack,
        warning,
        "racks",
        ("lose", "a rack"),
        "their in-sync replicas are in fewer racks then",
        "let no other rack go meanwhile",
    )
    yield _judged(
        losses.no_place,
        warning,
        "places",
        ("have", "more replicas than brokers are left that may get one"),
        "",
        "add or uncordon a broker before these go for good",
    )
    yield _room(found)


def _brokers(cluster: Cluster, found: Departure, answers: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    going = set(found.brokers)
    strangers = found.strangers(cluster.brokers)
    gone = sorted(going - cluster.brokers.keys() - set(strangers))
    if strangers:
        what = f"{some(strangers)}: no such broker is registered or holds a replica"
        yield unsafe("brokers", what, "look at the ids")
    if gone:
        yield fine("brokers", f"{some(gone)} {agreeing(len(gone), 'are')} gone already")
    silent = [f"{one.broker.id} ({one.problem})" for one in answers if one.problem and one.broker.id not in going]
    if silent:
        yield unsafe(
            "brokers",
            f"{some(silent)} {agreeing(len(silent), 'do')} not answer, so what the others still have is not known",
            "see that they run and can be reached from here, and ask again",
        )
    elif not cluster.brokers.keys() - going:
        yield unsafe("brokers", "no other broker is registered", "let fewer brokers go")


def _configs(answers: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    """A broker may lead any partition, so the setting of each one counts."""
    untold = [one.broker.id for one in answers if not one.problem and MIN_INSYNC_REPLICAS not in one.configs]
    if untold:
        yield unsafe(
            "configs",
            f"{some(untold)} {agreeing(len(untold), 'do')} not report {MIN_INSYNC_REPLICAS}: topics without their own"
            " may need more in-sync replicas than are counted below",
            "let this login read the brokers' configs (DESCRIBE_CONFIGS on the cluster), and ask again",
        )


def _judged(lost: Named, level: Any, subject: str, does: tuple[str, str], what: str, advice: str) -> Finding:
    """`does`: the verb, for many partitions, and what follows it."""
    verb, rest = does
    if not lost.count:
        one = agreeing(1, verb)
        return fine(subject, f"no partition {one} {rest}")
    after = f": {what}" if what else ""
    found: Finding = level(
        subject, f"{counted(lost.count, 'partition', verb)} {rest} ({lost.text(SHOWN)}){after}", advice
    )
    return found


def _named(lost: Named) -> str:
    return f"{counted(lost.count, 'partition')} ({lost.text(SHOWN)})"


def _room(found: Departure) -> Finding:
    room = found.room
    if room.enough is None:
        return warning(
            "room",
            "whether the other brokers have room for what these hold is not known: "
            f"{some(room.silent)} {agreeing(len(room.silent), 'have')} not reported their bytes",
            "look at their disks before these go for good (brokers before Kafka 3.3 do not report them)",
        )
    if not room.enough:
        needed = "more" if room.needed is None else size(room.needed)
        return unsafe(
            "room",
            f"the other brokers have no room for what these hold: {needed} to hold, {size(room.free or 0)} free",
            "add brokers or disks before these go for good, or delete what is not needed",
        )
    if not found.losses.replicas:
        return fine("room", "they hold no replica")
    return fine("room", f"the other brokers have room for the {size(room.needed or 0)} that these hold, in sum")


def document(away: Collection[int], found: Departure | None) -> dict[str, Any]:
    """The answer for programs: null where it could not be asked for. Each list names the first partitions."""
    losses = None if found is None else msgspec.to_builtins(losses_document(found))
    return {"brokers": sorted(away), "departure": losses}
