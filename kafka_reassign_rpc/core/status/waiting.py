"""Why a waiting move waits, and its place in the queue."""

from collections.abc import Collection, Iterator

from kafka_reassign_rpc.core.healing.brake import braked_caps
from kafka_reassign_rpc.core.reassignment.waiting_moves import held_text, since_text
from kafka_reassign_rpc.core.state.partition import HEAL, Partition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import NO_CAP, REPAIRS, WINDOW, WaitingLine
from kafka_reassign_rpc.core.status.views import TermView
from kafka_reassign_rpc.support.counted import counted

ITS_TURN = "its turn"


class WaitingReasons:
    """Reads the queue once, for the moves of one page."""

    def __init__(self, term: TermView, names: Collection[TopicPartition]) -> None:
        self._term = term
        queue = term.cluster.queue
        places = ((name, queue.place(*name)) for name in names)
        self._serials = {name: place.serial for name, place in places if place is not None}
        wanted = set(self._serials.values())
        self._ranks = dict(_ranks(queue.names, wanted))
        self._lines: dict[int, WaitingLine] = {}
        for cap, lines in queue.waiting.blocked.items() if wanted else ():
            for place, line in lines.items():
                self._lines.update(dict.fromkeys(wanted.intersection(line), (place, cap)))
        self._rules = term.cluster.soft.in_force
        self._caps = braked_caps(term.cluster, term.cluster.soft.gone)

    def place(self, name: TopicPartition) -> int | None:
        """From 1; None outside of the queue."""
        serial = self._serials.get(name)
        return None if serial is None else self._ranks.get(serial)

    def waits_for(self, name: TopicPartition, partition: Partition, move: WaitingMove) -> str:
        if move.held is not None:
            approval = " (and then for approval)" if move.unapproved is not None else ""
            return f"its release{approval}: held {held_text(move.held)}"
        if self._rules.disabled_by is not None:
            return f"reassignments to be enabled: {self._rules.disabled_by}"
        healing = self._term.healing
        if move.terms.route == HEAL and healing is not None:
            if healing.paused:
                return "self-healing to be resumed"
            if healing.held_back is not None:
                return f"self-healing, which is held back: {healing.held_back}"
        if move.unapproved is not None:
            return f"approval{since_text(move.unapproved)}"
        dead = [
            broker for broker in move.terms.target if broker not in partition.replicas and not self._is_live(broker)
        ]
        if dead:
            return dead_broker(dead[0])
        line = self._lines.get(self._serials.get(name, -1))
        if line is not None and (text := self._of_line(line)) is not None:
            return text
        if partition.is_moving:
            return "the end of the move of its partition that is in flight"
        caps, moving = self._caps, sum(map(len, self._term.cluster.moving.values()))
        if 0 <= caps.per_cluster <= moving:
            return f"room in the cluster: at most {counted(caps.per_cluster, 'move')} in flight"
        if caps.bytes_in_flight >= 0 and moving:
            return f"room in the cluster: at most {caps.bytes_in_flight} bytes in flight"
        return ITS_TURN

    def _is_live(self, broker: int) -> bool:
        return self._term.cluster.is_live(broker)

    def _of_line(self, line: WaitingLine) -> str | None:
        place, own = line
        broker, cap = place.broker, own if own != NO_CAP else self._caps.per_broker
        if place == WINDOW and self._rules.window is not None:
            return f"a window: {self._rules.window.meaning}"
        if place == REPAIRS:
            return f"other repairs: at most {counted(self._caps.repairs, 'move')} of repairs in flight"
        if broker is None:
            return None
        if not self._is_live(broker):
            return dead_broker(broker)
        if cap < 0:
            return f"broker {broker} to report sizes"
        return f"room on broker {broker}: at most {counted(cap, 'move')} in flight there"


def dead_broker(broker: int) -> str:
    return f"broker {broker}, which is dead"


def _ranks(serials: Collection[int], wanted: set[int]) -> Iterator[tuple[int, int]]:
    """The places of the `wanted` moves among all `serials`, which are in order."""
    left = len(wanted)
    for rank, serial in enumerate(serials, 1):
        if not left:
            return
        if serial in wanted:
            left -= 1
            yield serial, rank
