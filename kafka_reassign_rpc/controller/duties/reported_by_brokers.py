"""What a term does about the reports of brokers, and whether they obey it.

Until one does, nothing that they carry out is answered as done (`by_brokers` in `api.api_definition` says which APIs
these are): what is decided would be in ZooKeeper only. A broker that answers nothing proves nothing, so a cluster whose
brokers are all away is served as well.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

from kafka_reassign_rpc.controller.commands.cluster_commands import StopsConfirmed
from kafka_reassign_rpc.controller.commands.command import Command
from kafka_reassign_rpc.controller.commands.leadership_commands import LogDirsAnswered, RestartReplicas
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.term_tasks import TermTasks
from kafka_reassign_rpc.controller.duties.topic_deletion import TopicDeletions
from kafka_reassign_rpc.controller.store import ReloadNeeded, Store
from kafka_reassign_rpc.controller.telemetry.event_recorder import Record
from kafka_reassign_rpc.controller_channel.pending_requests import DELETED_EPOCH, StopReplicaState
from kafka_reassign_rpc.controller_channel.replica_answers import LogDirAnswer
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import NotController, UnknownServerError
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import first_of

FIRST_ANSWER_S = 1.0
"""How long a request waits for the first answer of any broker."""


class Obedience:
    def __init__(self) -> None:
        self._is_known = asyncio.Event()
        self._obeys = False
        self._refuses = False

    def obeyed(self) -> None:
        self._obeys = True
        self._is_known.set()

    def refused(self) -> None:
        self._refuses = True
        self._is_known.set()

    def nobody_is_asked(self) -> None:
        """There is no broker, or the term is over."""
        self._is_known.set()

    async def wait(self) -> None:
        """Raises NotController."""
        if not self._is_known.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_known.wait(), FIRST_ANSWER_S)
            self._is_known.set()
        if self._refuses and not self._obeys:
            raise NotController("The brokers know a higher controller epoch than this server has, and do not obey it.")


log = logging.getLogger(__name__)

HIGHER_EPOCH = "a broker knows a higher controller epoch, although no other controller is elected"
SHOWN = 5
"""How many replicas an event names."""


class ReportedByBrokers:
    """log_dirs_changed  called when replicas went offline or came back
    refused           called when a broker has refused the epoch of this term: whether a term of a higher one may help
    record            takes events that no round decides
    """

    def __init__(
        self,
        loop: ControllerLoop,
        store: Store,
        deletions: TopicDeletions,
        tasks: TermTasks,
        log_dirs_changed: Callable[[], None],
        obedience: Obedience,
        refused: Callable[[], bool],
        record: Record,
    ) -> None:
        self._obedience = obedience
        self._refused = refused
        self._record = record
        self._log_dirs_changed = log_dirs_changed
        self._loop = loop
        self._store = store
        self._deletions = deletions
        self._tasks = tasks
        self._is_confirming = False

    def stopped(self, broker: int, stops: Mapping[TopicPartition, StopReplicaState]) -> None:
        deleted = {name: stop for name, stop in stops.items() if stop.leader_epoch == DELETED_EPOCH}
        if deleted:
            self._deletions.confirm(broker, deleted)
        if len(deleted) < len(stops):
            others = {name: stop for name, stop in stops.items() if name not in deleted}
            self._loop.submit(StopsConfirmed(broker, others))

    def obeys(self) -> None:
        self._obedience.obeyed()

    def knows_newer_controller(self) -> None:
        """The store decides whether that is true."""
        self._obedience.refused()
        if not self._is_confirming:
            self._is_confirming = True
            self._tasks.begin(self._confirm())

    def log_dirs_answered(self, broker: Broker, answers: Sequence[LogDirAnswer], *, is_complete: bool = False) -> None:
        self._tasks.begin(self._log_dirs(broker, answers, is_complete=is_complete))

    def unassigned_found(self, broker: int, stopped: Sequence[TopicPartition], logs: Sequence[TopicPartition]) -> None:
        for event, names in ((catalogue.BROKER_REPLICAS_STOPPED, stopped), (catalogue.BROKER_LOGS_LEFT, logs)):
            if names:
                self._record([Event(event, broker=broker, count=len(names), reason=first_of(names, SHOWN))])

    def leader_and_isr_refused(self, broker: Broker, partitions: Mapping[str, Collection[int]] | None) -> None:
        self._tasks.begin(self._insist(lambda: RestartReplicas(broker, partitions)))

    async def _log_dirs(self, broker: Broker, answers: Sequence[LogDirAnswer], *, is_complete: bool) -> None:
        await self._insist(lambda: LogDirsAnswered(broker, answers, is_complete=is_complete))
        if answers or broker.id in self._loop.cluster.failed_log_dirs:
            self._log_dirs_changed()

    async def _confirm(self) -> None:
        try:
            await self._store.confirm()
            if not self._tasks.is_over and self._refused():
                self._tasks.end_term(HIGHER_EPOCH)
        except ReloadNeeded as reason:  # the broker says it once more
            log.info("whether there is a newer controller could not be read, so this one goes on: %s", reason)
        finally:
            self._is_confirming = False

    async def _insist(self, command: Callable[[], Command[None]]) -> None:
        with suppress(NotController, UnknownServerError):  # the loop has logged a defect
            await self._loop.insist(command)
