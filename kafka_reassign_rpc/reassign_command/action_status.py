"""--status: all that the status page of a server shows, once, in a terminal.

The sections are read one after the other; what this cluster does not tell (a stock controller has no queue, no healing
and no events) is left out, and said.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from kafka_reassign_rpc.client import (
    BrokerState,
    ControllerState,
    Event,
    HealingStatus,
    KafkaError,
    LogDirProgressTracker,
    PartitionReassignment,
    PastFigures,
    Progress,
    TopicPartition,
    UnsupportedHere,
    text_format,
)
from kafka_reassign_rpc.client.config_calls import BROKER, Configs
from kafka_reassign_rpc.client.move_progress import Listed, ProgressSnapshot, brokers_to_ask, read_progress
from kafka_reassign_rpc.core.events.move_requesters import MoveRequesters
from kafka_reassign_rpc.core.reassignment_settings import MAX_BYTES_IN_FLIGHT, MAX_PER_BROKER, MAX_PER_CLUSTER
from kafka_reassign_rpc.core.state.cluster import NO_LEADER
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, set_by
from kafka_reassign_rpc.reassign_command import action_events, action_heal, action_list, action_watch, history_plots
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.merged_events import newest_events
from kafka_reassign_rpc.reassign_command.output import partition_fields
from kafka_reassign_rpc.reassign_command.status_figures import (
    CopyRates,
    PartitionCounts,
    copy_rates,
    count_partitions,
    elected,
    leader_sizes,
    origin_of,
    originals,
    requesters,
    set_value,
)
from kafka_reassign_rpc.support.bounded_text import abridged, printable
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.human_units import utc_time

SAMPLE_S = 2.0
"""Between the two looks at sizes from which rates are reckoned."""
MOVES_SHOWN = 50
EVENTS_SHOWN = 10
EVENTS_READ = 2_000
"""Of each server: they tell who asked for moves."""
LONGEST, LONGEST_NAME, LONGEST_REASON, LONGEST_EVENT = 120, 50, 60, 400
"""Characters: of a text; in the table of a partition, a requester or a rack, and of a reason; of an event's line."""
LONGEST_SHUTTING_DOWN = 65
"""Characters of their ids: with the words before them they fit into 80 columns."""
UNKNOWN = "unknown"
OF_A_LEASE = "*"
"""Marks a throttle."""
NO_BROKER_STATE = BrokerState()
NO_CAP = "none"
"""Of a cap that is not set, for people; JSON has null, as the API of the status page."""

CAPS = (MAX_PER_BROKER, MAX_PER_CLUSTER, MAX_BYTES_IN_FLIGHT)


class Seen(NamedTuple):
    """What was read.

    leaders                      of the partitions that move or wait
    sizes                        of partitions whose moves wait, in bytes, as far as leaders tell them
    configs                      those of all brokers under "", and of each broker
    events                       None where there are none
    disabled, healing, history   None where the controller does not tell; so is `state`
    """

    cluster_id: str
    controller: int
    racks: Mapping[int, str | None]
    listed: Listed
    progress: ProgressSnapshot
    leaders: Mapping[TopicPartition, int]
    sizes: Mapping[TopicPartition, int]
    counts: PartitionCounts
    rates: CopyRates
    configs: Mapping[str, Configs | KafkaError]
    events: Sequence[Event] | None
    disabled: str | None
    healing: HealingStatus | None
    history: Sequence[PastFigures] | None
    state: ControllerState | None


def run(context: ActionContext, *, sleep: Callable[[float], None] = time.sleep) -> None:
    seen = _read(context, sleep)
    blocks = history_plots.BLOCKS if context.output.can_write(history_plots.BLOCKS) else history_plots.ASCII
    for line in lines(seen, blocks):
        context.output.line(line)
    context.output.note(**document(seen))


def _read(context: ActionContext, sleep: Callable[[float], None]) -> Seen:
    client = context.client
    listed, progress = read_progress(client, LogDirProgressTracker(), 0.0)
    everything = client.describe_everything()
    leaders: dict[TopicPartition, int] = {}

    def topics() -> Iterator[Any]:
        for topic in everything.topics:
            for index, found in topic.partitions.items():
                if TopicPartition(topic.name, index) in listed:
                    leaders[TopicPartition(topic.name, index)] = found.leader
            yield topic

    counts = count_partitions(topics(), listed)
    rates = _rates(context, listed, leaders, sleep)
    waiting = {name for name, move in action_list.rows(listed, progress.waiting_beside) if move.is_waiting}
    sizes = _sizes(context, {name: leader for name, leader in leaders.items() if name in waiting and leader >= 0})
    events, healing, disabled, history, state = None, None, None, None, None
    with suppress(UnsupportedHere):
        healing = client.healing_status()
        disabled = client.why_disabled()
        history = client.history() or None
        state = client.controller_state()
    if healing is not None:
        with suppress(KafkaError):  # a server may keep no event log
            events = newest_events(client, context.client_of, action_events.say, EVENTS_READ)
    brokers = {node.id: node.rack for node in everything.nodes}
    of_all = client.describe_configs([(BROKER, "")])[BROKER, ""]
    configs = {"": of_all} | {str(one): found for one, found in client.describe_broker_configs(brokers).items()}
    return Seen(
        everything.cluster_id,
        everything.controller,
        brokers,
        listed,
        progress,
        leaders,
        sizes,
        counts,
        rates,
        configs,
        events,
        disabled,
        healing,
        history,
        state,
    )


def _rates(
    context: ActionContext, listed: Listed, leaders: Mapping[TopicPartition, int], sleep: Callable[[float], None]
) -> CopyRates:
    asked = brokers_to_ask({name: move for name, move in listed.items() if not move.is_waiting})
    if not asked:
        return CopyRates({}, {})
    began, before = time.monotonic(), context.client.describe_log_dirs(asked)
    sleep(SAMPLE_S)
    later, now = time.monotonic(), context.client.describe_log_dirs(asked)
    return copy_rates(listed, leaders, before, now, max(later - began, 0.001))


def _sizes(context: ActionContext, leaders: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    asked: dict[int, list[TopicPartition]] = {}
    for partition, leader in leaders.items():
        asked.setdefault(leader, []).append(partition)
    return leader_sizes(leaders, context.client.describe_log_dirs(asked)) if asked else {}


# ------------------------------------------------------------------------------------------------------ as text


def lines(seen: Seen, blocks: str = history_plots.BLOCKS) -> Iterator[str]:
    """For people. `blocks`: the characters of plots."""
    epoch, since = _elected(seen)
    role = f"controller {seen.controller}" + ("" if seen.healing else " (not a kafka-reassign-rpc server)")
    role += ("" if epoch is None else f", epoch {epoch}") + ("" if since is None else f", since {utc_time(since)} UTC")
    yield f"cluster {_plain(seen.cluster_id)}: {role}"
    if seen.state is not None:
        yield f"kafka-reassign-rpc {_plain(seen.state.version)}"
    under, offline = seen.counts.under_replicated, seen.counts.offline
    yield f"{counted(under, 'partition', 'are')} under-replicated, {offline} {agreeing(offline, 'are')} offline"
    yield seen.disabled or "New moves may start."
    yield f"caps: {', '.join(f'{name}={_cap(seen, name) or NO_CAP}' for name in CAPS)}"
    yield ""
    yield action_watch.summary(seen.progress)
    yield from _move_lines(seen)
    yield ""
    yield from _broker_lines(seen)
    yield ""
    if seen.healing is not None:
        yield from action_heal.status_lines(seen.healing)
    else:
        yield "Self-healing: the controller does not know it."
    yield ""
    if seen.history is None:
        yield "History: the controller keeps none."
    else:
        yield from history_plots.lines(seen.history, blocks)
    yield ""
    if seen.events is None:
        yield "Events: the controller keeps none."
    else:
        yield from (_plain(action_events.line(event), LONGEST_EVENT) for event in seen.events[-EVENTS_SHOWN:])


def _elected(seen: Seen) -> tuple[int | None, int | None]:
    """The epoch of the controller and when it was elected (ms): the events of a long term do not go back so far."""
    if seen.state is not None:
        return seen.state.epoch, seen.state.since
    return elected(seen.events or (), seen.controller)


def _move_lines(seen: Seen) -> Iterator[str]:
    who, told = requesters(seen.events or ()), originals(seen.events or ())
    rows = [("PARTITION", "LEADER", "FROM", "TO", "COPIED", "SINCE", "ASKED BY", "WHY")]
    moves = sorted(
        ((partition, move, _progress(seen, partition, move)) for partition, move in rows_of(seen)),
        key=lambda row: (-_left(row[2]), row[0]),
    )
    for partition, move, found in moves[:MOVES_SHOWN]:
        copied = UNKNOWN if found is None else text_format.amounts(found)
        leader, since = seen.leaders.get(partition, NO_LEADER), _since(seen, partition, move)
        rows.append(
            (
                _plain(str(partition), LONGEST_NAME),
                "none" if leader == NO_LEADER else str(leader),
                str(origin_of(move, told.get(partition))),
                str(list(move.target)),
                _waits(seen, partition, move) if move.is_waiting else _plain(copied),
                "" if move.is_waiting else UNKNOWN if since is None else f"{utc_time(since)} UTC",
                _plain(_asked_by(who, partition, move) or UNKNOWN, LONGEST_NAME),
                _why(seen, move),
            )
        )
    if moves:
        yield from text_format.table(rows)
    if len(moves) > MOVES_SHOWN:
        yield f"… and {len(moves) - MOVES_SHOWN} more (--json shows all)"


def _broker_lines(seen: Seen) -> Iterator[str]:
    """The table, and what its columns have no room for: a lease is a mark, a shutdown a line."""
    rows = [("BROKER", "RACK", "IN", "OUT", "THROTTLE IN", "THROTTLE OUT", "REPLICAS", "LEADERS")]
    brokers = brokers_of(seen)
    for broker in brokers:
        alive = broker["alive"]
        rows.append(
            (
                f"{broker['broker']}{'' if alive else ' dead'}",
                _plain(broker["rack"] or ("none" if alive else UNKNOWN), LONGEST_NAME),
                _rate(broker["bytes_in_per_second"]),
                _rate(broker["bytes_out_per_second"]),
                _throttle(seen, broker["broker"], broker["throttle_in"], broker["throttle_in_by"]),
                _throttle(seen, broker["broker"], broker["throttle_out"], broker["throttle_out_by"]),
                str(broker["replicas"]),
                str(broker["leaders"]),
            )
        )
    yield from text_format.table(rows)
    if any(broker["throttle_in_by"] or broker["throttle_out_by"] for broker in brokers):
        yield f"Throttles: {OF_A_LEASE} by a lease of moves, else by a config."
    shutting_down = [str(broker["broker"]) for broker in brokers if broker["shutting_down"]]
    if shutting_down:
        yield f"Shutting down: {abridged(', '.join(shutting_down), LONGEST_SHUTTING_DOWN)}"


def _plain(text: str, limit: int = LONGEST) -> str:
    """What others have written as one short line of visible characters."""
    return abridged(printable(text), limit)


def rows_of(seen: Seen) -> list[tuple[TopicPartition, PartitionReassignment]]:
    """All moves by partition, those in the queue after those in flight."""
    return action_list.rows(seen.listed, seen.progress.waiting_beside)


def _progress(seen: Seen, partition: TopicPartition, move: PartitionReassignment) -> Progress | None:
    return None if move.is_waiting else seen.progress.moves.get(partition)


def _asked_by(who: MoveRequesters, partition: TopicPartition, move: PartitionReassignment) -> str | None:
    return who.of_waiting(*partition) if move.is_waiting else who.of(*partition)


def _to_copy(seen: Seen, partition: TopicPartition, move: PartitionReassignment) -> int | None:
    """Bytes that a move that waits will copy; None: not known."""
    size = seen.sizes.get(partition)
    return None if size is None else size * len(move.adding_replicas)


def _waits(seen: Seen, partition: TopicPartition, move: PartitionReassignment) -> str:
    to_copy = _to_copy(seen, partition, move)
    return "waits" if to_copy is None else f"waits, {text_format.size(to_copy)}"


def _since(seen: Seen, partition: TopicPartition, move: PartitionReassignment) -> int | None:
    """When a move in flight started, ms since 1970; None: the controller does not tell, or the move waits."""
    description = None if move.is_waiting else seen.progress.described.get(partition)
    return None if description is None else description.start_time


def _why(seen: Seen, move: PartitionReassignment) -> str:
    """The reason and the route. A stock controller tells neither."""
    return ", ".join(
        filter(None, (_plain(move.reason, LONGEST_REASON), "" if seen.healing is None else f"by {move.route}"))
    )


def _left(progress: Progress | None) -> int:
    return -1 if progress is None or progress.total is None else progress.total - progress.done


def _rate(bytes_per_second: int | None) -> str:
    return UNKNOWN if bytes_per_second is None else f"{text_format.size(bytes_per_second)}/s"


def _throttle(seen: Seen, broker: int, bytes_per_second: int | None, by: str | None) -> str:
    """A broker that is dead, or does not answer, has told nothing of its own configs."""
    if bytes_per_second is None and isinstance(seen.configs.get(str(broker)), list):
        return "none"
    return _rate(bytes_per_second) + (f" {OF_A_LEASE}" if by == "lease" else "")


def _cap(seen: Seen, name: str) -> str | None:
    """The cap in force, as the controller's own configs have it. None: there is none."""
    found = set_value(seen.configs.get(str(seen.controller)), name) or set_value(seen.configs.get(""), name)
    return None if found in (None, "-1") else _plain(found or "")


# ------------------------------------------------------------------------------------------------------ as JSON


def brokers_of(seen: Seen) -> list[dict[str, Any]]:
    """The brokers that are registered or hold replicas; None: not known, or no throttle."""
    server = {seen.controller} if seen.healing is not None and not seen.counts.replicas[seen.controller] else set()
    return [_broker(seen, broker) for broker in sorted({*seen.racks, *seen.counts.replicas} - server)]


def _broker(seen: Seen, broker: int) -> dict[str, Any]:
    state = None if seen.state is None else seen.state.brokers.get(broker, NO_BROKER_STATE)
    throttle_in, throttle_out = _throttle_of(seen, broker, FOLLOWER_RATE), _throttle_of(seen, broker, LEADER_RATE)
    return {
        "broker": broker,
        "alive": broker in seen.racks,
        "shutting_down": None if state is None else state.is_shutting_down,
        "rack": seen.racks.get(broker),
        "bytes_in_per_second": seen.rates.into.get(broker, 0),
        "bytes_out_per_second": seen.rates.out_of.get(broker, 0),
        "throttle_in": throttle_in,
        "throttle_in_by": _set_by(throttle_in, state),
        "throttle_out": throttle_out,
        "throttle_out_by": _set_by(throttle_out, state),
        "replicas": seen.counts.replicas[broker],
        "leaders": seen.counts.leaders[broker],
    }


def _set_by(rate: int | None, state: BrokerState | None) -> str | None:
    return None if rate is None or state is None else set_by(rate, state.leased_rate)


def _throttle_of(seen: Seen, broker: int, name: str) -> int | None:
    own = seen.configs.get(str(broker))
    if not isinstance(own, list):  # what is set for all brokers may be overridden there
        return None
    found = set_value(own, name) or set_value(seen.configs.get(""), name)
    return int(found) if found is not None and found.isascii() and found.isdigit() else None


def document(seen: Seen) -> dict[str, Any]:
    """For programs. Times in ms since 1970; null is what is not known."""
    who = requesters(seen.events or ())
    epoch, since = _elected(seen)
    progress = action_watch.document(seen.progress)
    figures = {(one["topic"], one["partition"]): one for one in progress.pop("moves")}
    return {
        "cluster": seen.cluster_id,
        "controller": {"id": seen.controller, "epoch": epoch, "since": since},
        "version": None if seen.state is None else seen.state.version,
        "under_replicated": seen.counts.under_replicated,
        "offline": seen.counts.offline,
        "disabled": seen.disabled,
        "healing": None if seen.healing is None else action_heal.status_document(seen.healing),
        "history": None if seen.history is None else [history_plots.document(past) for past in seen.history],
        "caps": {name: _cap(seen, name) for name in CAPS},
        **progress,
        "moves": [
            {
                **partition_fields(partition),
                "state": move.state,
                "replicas": list(move.replicas),
                "adding": list(move.adding_replicas),
                "removing": list(move.removing_replicas),
                "route": move.route,
                "reason": move.reason or None,
                "leader": None if seen.leaders.get(partition, NO_LEADER) == NO_LEADER else seen.leaders[partition],
                "since": _since(seen, partition, move),
                "who": _asked_by(who, partition, move),
                **(_waiting_figures(seen, partition, move) if move.is_waiting else figures.get(partition, {})),
            }
            for partition, move in rows_of(seen)
        ],
        "brokers": brokers_of(seen),
        "events": None if seen.events is None else list(seen.events[-EVENTS_SHOWN:]),
    }


def _waiting_figures(seen: Seen, partition: TopicPartition, move: PartitionReassignment) -> dict[str, int]:
    to_copy = _to_copy(seen, partition, move)
    return {} if to_copy is None else {"total_bytes": to_copy, "done_bytes": 0}
