"""A term in front of KRaft: the loop and its duties, from the claim of the state log until another server has it; and
that log as the store wants it.

load    replay and one look; from here on what is known can be shown
work    looks, acts, the queue and the throttles, until the log is fenced
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple, TypeVar

from kafka_reassign_rpc.controller.duties.learnt_settings import SettingsNotices
from kafka_reassign_rpc.controller.duties.term_tasks import TermTasks
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesTerm
from kafka_reassign_rpc.controller.store import ControllerMoved
from kafka_reassign_rpc.controller.telemetry.event_recorder import Record
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS, ReassignmentSettings
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.kraft import round_records
from kafka_reassign_rpc.kraft.alter_sender import AlterSender
from kafka_reassign_rpc.kraft.cluster_poller import ClusterPoller, LookPace
from kafka_reassign_rpc.kraft.kraft_commands import TakenOver
from kafka_reassign_rpc.kraft.kraft_store import KRaftStore
from kafka_reassign_rpc.kraft.ports import IntentLog, KRaftCluster
from kafka_reassign_rpc.kraft.round_records import Intents, RoundRecord
from kafka_reassign_rpc.kraft.sightings import Settling, Sightings, settling
from kafka_reassign_rpc.kraft.state_log.log_errors import LogError
from kafka_reassign_rpc.kraft.state_log.state_log import StateLog
from kafka_reassign_rpc.kraft.term_duties import Asked, RecordedOutcomes, Surroundings, TermDuties
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.support.wall_clock import now_ms

T = TypeVar("T")


class ClaimedLog:
    """An `IntentLog`. `server`: its name in claims. `trouble`: why it can be used no more."""

    def __init__(self, log: StateLog, server: str, lead_s: float) -> None:
        self._log = log
        self._server = server
        self._lead_s = lead_s
        self.trouble: LogError | None = None

    @property
    def lease_left(self) -> float:
        """Seconds for which no other server leads: only in these is the cluster told anything."""
        return self._log.acknowledged_at + self._lead_s - asyncio.get_running_loop().time()

    @property
    def snapshot_is_due(self) -> bool:
        return self._log.snapshot_is_due

    async def commit(self, payloads: Sequence[bytes]) -> int:
        return await self._moved(self._log.commit(payloads))

    async def keep(self) -> None:
        await self._moved(self._log.keep())

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Says that this server leads while the block runs; commits go on behind it. Raises ControllerMoved."""
        over = asyncio.Event()
        keeping = asyncio.create_task(self._moved(self._log.keep(over)))
        try:
            yield
        except BaseException:
            await end(keeping)
            raise
        over.set()
        await keeping

    async def snapshot(self, payloads: Sequence[bytes]) -> None:
        who = round_records.encode(RoundRecord(at=now_ms(), server=self._server, page=self._log.page))
        await self._moved(self._log.snapshot([who, *payloads]))

    async def _moved(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except LogError as error:
            self.trouble = self.trouble or error
            raise ControllerMoved(str(error)) from error


USUAL_PACE = LookPace()
USUAL_SETTLING = settling(4.0, 30.0)


class Claimed(NamedTuple):
    """The log once it is this server's: `intents` replayed up to the claim, `epoch` of it."""

    log: IntentLog
    intents: Intents
    epoch: int


async def _at_once() -> None:
    pass


class KRaftTerm:
    def __init__(
        self,
        claimed: Claimed,
        cluster: KRaftCluster,
        now_ms: Callable[[], int],
        record: Record,
        asked: Asked,
        started_with: ReassignmentSettings = DEFAULT_SETTINGS,
        pace: LookPace = USUAL_PACE,
        written: Callable[[], Awaitable[None]] = _at_once,
        settling: Settling = USUAL_SETTLING,
        *,
        notices: SettingsNotices,
    ) -> None:
        """`written`: waits until the events are written that `record` has got."""
        self._log, intents, epoch = claimed
        self._tasks = TermTasks()
        sightings = Sightings(intents, settling)
        self._sender = AlterSender(cluster, intents, sightings)
        self._store = KRaftStore(
            self._log, cluster, intents, epoch, now_ms, self._sender.tell, started_with=started_with, sure_s=pace.first
        )
        self._outcomes = RecordedOutcomes(intents, record, written, self._store.acknowledge)
        poller = ClusterPoller(cluster, intents, sightings, pace)
        self._around = Surroundings(
            self._store, intents, self._sender, poller, self._outcomes, self._tasks, record, now_ms, asked, notices
        )

    async def serve(self, begin: Callable[[MovesTerm], None]) -> str:
        """Calls `begin` once commands are taken. Returns why the term has ended."""
        self._tasks.begin(self._log.keep(), "signs of life")
        try:
            await self._work(await self._loaded(), begin)
            why = await self._tasks.over()
            self._tasks.raise_defect()
        except (NotController, ControllerMoved) as reason:
            why = str(reason)
        finally:
            await self._tasks.stop()
            self._sender.callers.term_is_over()
        return why

    async def _loaded(self) -> Cluster:
        """Raises ControllerMoved: the term may end before the cluster answers."""
        loading, over = asyncio.create_task(self._store.load()), asyncio.create_task(self._tasks.over())
        try:
            await asyncio.wait([loading, over], return_when=asyncio.FIRST_COMPLETED)
            if not loading.done():
                raise ControllerMoved(self._tasks.why)
            return loading.result().cluster
        finally:
            await end(over, loading)

    async def _work(self, cluster: Cluster, begin: Callable[[MovesTerm], None]) -> None:
        """Raises NotController."""
        self._outcomes.take_over()
        duties = TermDuties(self._around, cluster)
        self._tasks.start(duties.loop.run(), duties.all)
        taken_over = duties.loop.submit(TakenOver())
        begin(duties.services())
        await taken_over
        self._tasks.failed_over()
