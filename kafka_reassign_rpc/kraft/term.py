"""A term in front of KRaft: the loop and its duties, from the claim of the state log until another server has it.

load    replay and one look; from here on what is known can be shown
work    looks, acts, the queue and the throttles, until the log is fenced
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.term_tasks import Duty, TermTasks
from kafka_reassign_rpc.controller.duties.waiting_moves import WaitingMoves
from kafka_reassign_rpc.controller.duties.window_changes import WindowChanges
from kafka_reassign_rpc.controller.telemetry.event_recorder import Record
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS, ReassignmentSettings
from kafka_reassign_rpc.core.writers.replay import ReplayedChanges
from kafka_reassign_rpc.kraft.intents import Intents
from kafka_reassign_rpc.kraft.kraft_commands import TakenOver
from kafka_reassign_rpc.kraft.kraft_store import KRaftStore
from kafka_reassign_rpc.kraft.looking import Looking, LookPace
from kafka_reassign_rpc.kraft.ports import IntentLog, KRaftCluster
from kafka_reassign_rpc.kraft.sightings import Sightings
from kafka_reassign_rpc.kraft.telling import Telling

USUAL_PACE = LookPace()


class Claimed(NamedTuple):
    """The log once it is this server's: `intents` replayed up to the claim, `epoch` of it."""

    log: IntentLog
    intents: Intents
    epoch: int


class KRaftTerm:
    def __init__(
        self,
        claimed: Claimed,
        cluster: KRaftCluster,
        now_ms: Callable[[], int],
        record: Record,
        started_with: ReassignmentSettings = DEFAULT_SETTINGS,
        pace: LookPace = USUAL_PACE,
    ) -> None:
        self._record = record
        self._now_ms = now_ms
        sightings = Sightings(claimed.intents)
        self._telling = Telling(cluster, claimed.intents, sightings)
        self._looking = Looking(cluster, claimed.intents, sightings, pace)
        log, intents, epoch = claimed
        self._store = KRaftStore(log, cluster, intents, epoch, now_ms, self._telling.tell, started_with=started_with)
        self._tasks = TermTasks()
        self._waiting_moves: WaitingMoves | None = None

    async def serve(self, begin: Callable[[ControllerLoop], None]) -> str:
        """Calls `begin` with the loop once it takes commands. Returns why the term has ended."""
        cluster = (await self._store.load()).cluster
        loop = ControllerLoop(
            cluster, self._store, self._round_replayed, lambda _: iter(()), lambda *_: TakenOver(), self._record
        )
        self._waiting_moves = waiting_moves = WaitingMoves(loop)
        windows = WindowChanges(loop, self._now_ms, lambda: None)
        try:
            self._tasks.start(
                loop.run(),
                (
                    Duty("acts", lambda: self._telling.run(loop), at_once=True),
                    Duty("looks", lambda: self._looking.run(loop), at_once=True),
                    Duty("waiting moves", waiting_moves.run, at_once=True),
                    Duty("windows", windows.run, at_once=True),
                    Duty("throttles", loop.throttle_configs.run),
                ),
            )
            taken_over = loop.submit(TakenOver())
            begin(loop)
            await taken_over
            self._tasks.failed_over()
            why = await self._tasks.over()
            self._tasks.raise_defect()
        except NotController as reason:
            why = str(reason)
        finally:
            await self._tasks.stop()
        return why

    def stop(self, why: str) -> None:
        self._tasks.end_term(why)

    def _round_replayed(self, applied: ReplayedChanges) -> Iterator[None]:
        self._looking.round_replayed()
        if self._waiting_moves is not None:
            yield from self._waiting_moves.round_replayed(applied)
