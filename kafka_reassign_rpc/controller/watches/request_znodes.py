"""Starts the request znodes under `/admin/reassignment_requests` (KIP-236), in the order of their creation (czxid).

There may be thousands, of up to a megabyte each. So the controller knows only their names and when they were created,
and reads some of them at a time when it is their turn.

    a name without a number        reported, left alone: it may be a user's note
    its ACL forbids to read it     reported, left alone
    its writes always fail         reported, left alone
    deleted before its turn        nothing: its creator has withdrawn it
    cannot be decoded              reported, deleted: a corrected znode would get another number anyway
    has children                   emptied instead of deleted, reported
    anything else                  its targets start, or are reported; it is deleted in the same round
    found after an absence         its targets join the queue as held, or are reported; it is deleted in the same round
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple

from kafka_reassign_rpc.controller.commands.cluster_commands import Reported
from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.controller.commands.reassign_partitions_commands import ProcessBatchAndQueue
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.loading.load_topics import decoded, watched_children
from kafka_reassign_rpc.controller.telemetry.event_recorder import Record
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import BY_REQUEST, Event
from kafka_reassign_rpc.core.kafka_errors import NotController, RequestTimedOut, UnknownServerError
from kafka_reassign_rpc.core.queue import holding, queue_admission
from kafka_reassign_rpc.core.reassignment.reassign_partitions import (
    RequestOutcome,
    decide_target,
)
from kafka_reassign_rpc.core.round.round_view import RequestEnded
from kafka_reassign_rpc.core.state.partition import MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import Held, WaitingMove
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import RequestsFound
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.reassignment_request_znodes import decode_request
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoAuth, ZkError

log = logging.getLogger(__name__)

LOOKED_AT_TOGETHER = 500
"""How many requests are asked about at a time: when were they created?"""
READ_TOGETHER = 32
"""How many requests are read at a time: 32 MiB at the worst."""
DECIDED_TOGETHER_BYTES = 262_144
"""Requests of this size share a round: other commands wait no longer than for these."""
TRIES = 10
"""How often a request whose writes fail is tried by itself."""
HAS_CHILDREN = "it is done, and cannot be deleted: there are znodes under it"


class RequestZnode(NamedTuple):
    """`problems` say why entries, or all of it, cannot be carried out."""

    name: str
    ended: RequestEnded
    moves: Mapping[TopicPartition, MoveTerms]
    problems: list[str]


class RequestsOutcome(Enum):
    STARTED = auto()
    WAIT_UNTIL_ENABLED = auto()
    READ_AGAIN = auto()


class StartRequests(Command[RequestsOutcome]):
    """`held`: what would start joins the queue as held, also while reassignments are disabled."""

    def __init__(self, found: Sequence[RequestZnode], held: Held | None = None) -> None:
        super().__init__()
        self._found = found
        self._held = held
        self._waiting: frozenset[str] | None = None

    def decide(self, work: Round) -> Iterator[None]:
        cluster = work.view.cluster
        if self._waiting is not None and cluster.requests is not self._waiting:
            # The cluster was read again since: one of the requests may have been changed or deleted.
            self.answer(RequestsOutcome.READ_AGAIN)
            return
        self._waiting = cluster.requests
        if self._held is None and restrictions.reassignments_disabled(cluster) is not None:
            self.answer(RequestsOutcome.WAIT_UNTIL_ENABLED)
            return
        yield from work.count_moves_in_flight()
        for found in self._found:
            work.view.by = Requester(BY_REQUEST + found.name)
            for problem in found.problems:
                work.view.report(Event(catalogue.ENTRY_REFUSED, reason=problem))
            for name, terms in found.moves.items():
                self._start(work, name, terms)
                yield
            work.view.requests[found.name] = found.ended
        self.answer(RequestsOutcome.STARTED)

    def _start(self, work: Round, name: TopicPartition, terms: MoveTerms) -> None:
        refused = work.refused.get(name[0])
        if refused is not None:
            outcome = RequestOutcome(report=str(refused))
        else:
            before = work.view.get(*name)
            outcome = decide_target(work.view, name, terms)
            if outcome.changes and self._held is not None:
                error = holding.join_held(work.view, name, terms, self._held)
                outcome = RequestOutcome(report=None if error is None else str(error))
            elif outcome.changes and before is not None and work.has_to_wait(name, before, outcome.changes[-1].value):
                error = queue_admission.append(work.view, name, WaitingMove(terms))
                outcome = RequestOutcome(report=None if error is None else str(error))
            elif outcome.changes or outcome.report is None:
                queue_admission.withdraw(work.view, name)
        for change in outcome.changes:
            work.view.add(change)
        if outcome.report is not None:
            what = catalogue.ENTRY_WAITING if outcome.changes else catalogue.ENTRY_REFUSED
            work.view.report(Event(what, *name, route=terms.route, reason=outcome.report, target=terms.target))


class RequestZnodes:
    def __init__(self, zk: ZooKeeper, loop: ControllerLoop, record: Record) -> None:
        self._zk = zk
        self._loop = loop
        self._record = record
        self._wake = asyncio.Event()
        self._wake.set()
        self._left_alone: set[str] = set()
        """Names of requests that are not started; the reason has been reported."""
        self._created: dict[str, int] = {}
        """The czxids of those that were there when it last looked: numbers begin again after 2^31."""
        self._waiting = 0
        self._one_by_one = False
        """Whether requests start one by one: the writes of one fail, and others must not fail with it."""
        self._tries: Counter[str] = Counter()

    def changed(self) -> None:
        self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self.start_all()
            except NotController:
                return
            except ZkError as error:
                # On the next connection everything is read again; without a session this is no controller.
                log.info("requests could not be read, and start after the next connection: %s", error)

    async def start_all(self) -> None:
        """Nothing while reassignments are disabled. Then processes the batch, which waits for the requests."""
        had = bool(self._loop.cluster.requests)
        while True:
            names = await self._known()
            if not names or self._must_wait(len(names)):
                break
            had = True
            await self._start_requests(names)
        self._one_by_one = False
        if had and self._loop.cluster.batch is not None:
            await self._loop.submit(ProcessBatchAndQueue())

    async def hold_all(self, held: Held) -> None:
        """Queues as held what the present requests ask for. Later ones are left for `start_all`."""
        try:
            names = await self._known()
        except NoAuth as error:
            log.warning("request znodes start once they can be read, and are not held: %s", error)
            return
        found = frozenset(names)
        while names:
            await self._start_requests(names, held)
            names = [name for name in await self._known() if name in found]
        self._one_by_one = False

    async def _known(self) -> list[str]:
        """Once the cluster has the names too."""
        names = await self._names()
        await self._loop.submit(Reported(RequestsFound(frozenset(names), self._zk.last_zxid)))
        return names

    def _must_wait(self, count: int) -> bool:
        disabled = restrictions.reassignments_disabled(self._loop.cluster)
        waiting = 0 if disabled is None else count
        if waiting and waiting != self._waiting:
            reason = f"{waiting} of its znodes wait. {disabled}"
            self._record(
                [Event(catalogue.ENTRY_WAITING, who=f"znode {znode_paths.REASSIGNMENT_REQUESTS}", reason=reason)]
            )
        self._waiting = waiting
        return disabled is not None

    async def _names(self) -> list[str]:
        """Of the requests to start, in their order. A watch reports the next change of the children."""
        names = await watched_children(self._zk, znode_paths.REASSIGNMENT_REQUESTS)
        self._left_alone.intersection_update(names)
        for name in names:
            if znode_paths.sequence_number(name) is None:
                self._leave_alone(name, "no sequence number in its name: create it as request_ with -s")
        wanted = [name for name in names if name not in self._left_alone]
        known = {name: created for name in wanted if (created := self._created.get(name)) is not None}
        for some in pieces([name for name in wanted if name not in known], LOOKED_AT_TOGETHER):
            paths = map(znode_paths.reassignment_request, some)
            stats = await asyncio.gather(*map(self._zk.exists, paths))
            known |= {name: stat.czxid for name, stat in zip(some, stats, strict=True) if stat is not None}
        self._created = known
        return sorted(known, key=lambda name: (known[name], znode_paths.sequence_number(name)))

    def _leave_alone(self, name: str, why: object) -> None:
        if name not in self._left_alone:
            self._left_alone.add(name)
            self._record([Event(catalogue.ENTRY_REFUSED, who=BY_REQUEST + name, reason=f"left alone: {why}")])

    async def _start_requests(self, names: Sequence[str], held: Held | None = None) -> None:
        pace = Pace()
        for some in pieces(names, READ_TOGETHER):
            together: list[RequestZnode] = []
            size = 0
            for name, data, stat in await self._read(some):
                if not data and stat.num_children:
                    self._leave_alone(name, HAS_CHILDREN)
                    continue
                if together and (self._one_by_one or size + len(data) > DECIDED_TOGETHER_BYTES):
                    if await self._decide(together, held) is not RequestsOutcome.STARTED:
                        return
                    together, size = [], 0
                together.append(await _decoded(name, data, stat))
                size += len(data)
                await pace.rest()
            if together and await self._decide(together, held) is not RequestsOutcome.STARTED:
                return

    async def _read(self, names: Sequence[str]) -> list[tuple[str, bytes, Stat]]:
        try:
            read = await self._zk.multi_get([znode_paths.reassignment_request(name) for name in names])
            return [(name, *one) for name, one in zip(names, read, strict=True) if one is not None]
        except NoAuth:
            if len(names) > 1:
                return [one for name in names for one in await self._read([name])]
            self._leave_alone(names[0], "its ACL keeps us from reading it")
            return []

    async def _decide(self, together: Sequence[RequestZnode], held: Held | None) -> RequestsOutcome:
        try:
            outcome = await self._loop.submit(StartRequests(together, held))
        except (RequestTimedOut, UnknownServerError):
            outcome = RequestsOutcome.READ_AGAIN
        if outcome is RequestsOutcome.READ_AGAIN:
            self._one_by_one = True
            if len(together) == 1:
                self._writes_failed(together[0].name)
        elif outcome is RequestsOutcome.STARTED:
            for found in together:
                self._tries.pop(found.name, None)
                if found.ended.has_children:
                    self._leave_alone(found.name, HAS_CHILDREN)
        return outcome

    def _writes_failed(self, name: str) -> None:
        self._tries[name] += 1
        if self._tries[name] == TRIES:
            del self._tries[name]
            self._leave_alone(name, f"ZooKeeper has refused {TRIES} times what it asks for: delete it, and ask again")


async def _decoded(name: str, data: bytes, stat: Stat) -> RequestZnode:
    ended = RequestEnded(stat.version, has_children=stat.num_children > 0)
    try:
        moves, problems = await decoded(decode_request, data, znode_paths.reassignment_request(name))
    except BadZnode as error:
        return RequestZnode(name, ended, {}, [f"nothing of it can be done: {error.reason}"])
    return RequestZnode(name, ended, moves, problems)
