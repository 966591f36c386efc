"""From standing by to being the controller and back, for as long as the process runs.

    STANDING BY   watches /controller; answers NOT_CONTROLLER; a vanished owner starts a campaign
    TAKING OVER   has won: reads the cluster, decides what a new controller has to, connects to the brokers
    CONTROLLING   the loop runs; a fence, a lost session or another owner ends it

    STANDING BY --won--> TAKING OVER --> CONTROLLING --deposed, session over--> STANDING BY

A connection that was lost and is back with the same session ends a term too: what happened meanwhile is read
by taking office anew, under a higher epoch, which settles every write whose outcome was unknown.

A process that was deposed does not seize the controllership back: it waits until nobody has it. Only at its
start, and only from a stock broker, it seizes (unless told not to): that is what it was started for.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.commit.durable_store import DurableStore
from kafka_reassign_rpc.controller.controller_election import Leadership
from kafka_reassign_rpc.controller.duties.leader_balance import LeaderBalance
from kafka_reassign_rpc.controller.duties.progress_sampling import SAMPLING, Sampling
from kafka_reassign_rpc.controller.lifecycle.controller_service import ControllerService, TermServices
from kafka_reassign_rpc.controller.lifecycle.standby import Standby
from kafka_reassign_rpc.controller.lifecycle.term import Term
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder
from kafka_reassign_rpc.controller_channel import Sender
from kafka_reassign_rpc.core.restrictions import NO_RULES, Rules
from kafka_reassign_rpc.core.state.cluster import Endpoint
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import WatchKind
from kafka_reassign_rpc.zookeeper.znode_contents import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

log = logging.getLogger(__name__)

RETRY_S = 0.5
"""Pause after ZooKeeper could not be asked, or a term ended before it began."""


class Supervisor:
    """Owns this process's part in the election. `run` is the one task that makes it controller or not."""

    def __init__(
        self,
        zk: ZooKeeper,
        server_id: int,
        endpoints: tuple[Endpoint, ...],
        service: ControllerService,
        standby: Standby,
        now_ms: Callable[[], int],
        *,
        seize_from_brokers: bool = True,
        balance: LeaderBalance | None = None,
        broker_listener: str | None = None,
        recorder: EventRecorder,
        rules: Rules = NO_RULES,
        sampling: Sampling = SAMPLING,
    ) -> None:
        self._zk = zk
        self._id = server_id
        self._endpoints = endpoints
        self._service = service
        self._standby = standby
        self._now_ms = now_ms
        self._may_seize = seize_from_brokers
        self._balance = balance or LeaderBalance()
        self._broker_listener = broker_listener
        self._rules = rules
        self._recorder = recorder
        self._sampling = sampling
        self._news = asyncio.Event()
        self._term: Term | None = None
        self._first_look = asyncio.Event()
        zk.on_watch(self._watch_fired)
        zk.on_session_over(self._session_over)
        zk.on_connected(self._end_term)

    async def settled(self) -> None:
        """Wait until this server is the controller, or has seen who is."""
        await self._first_look.wait()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._news.clear()
            try:
                settled = await self._take_part()
            except ZkError as error:
                log.info("standing by: ZooKeeper cannot be asked (%s)", error)
                settled = False
            except BadZnode as error:
                log.error("standing by: %s", error)
                settled = False
            except Exception:
                # A defect must not leave a process that looks alive and never controls again.
                log.exception("a defect ended this server's term; taking office anew")
                settled = False
            if settled:
                await self._news.wait()
            else:
                self._standby.forget()
                await asyncio.sleep(RETRY_S)

    async def _take_part(self) -> bool:
        """Find out who is the controller, become it if nobody is, and be it as long as possible.

        Whether there is nothing to do until something changes; if not, it is to be tried again soon.
        """
        while True:
            owner = await self._standby.refresh()
            if not self._may_follow(owner):
                log.info("standing by: %d is the controller", owner.id if owner else controller_election.UNKNOWN)
                self._may_seize = False
                self._first_look.set()
                return True
            self._may_seize = False
            leadership = await controller_election.campaign(
                self._zk, self._id, self._endpoints, self._now_ms, seize=owner
            )
            if leadership is None or not await self._serve(leadership):
                return False

    def _may_follow(self, owner: controller_election.ControllerOwner | None) -> bool:
        """Nobody; ourselves, from before a broken connection (with a new epoch then); at our start, a broker."""
        if owner is None or owner.session == self._zk.session_id:
            return True
        return self._may_seize and owner.id in self._standby.brokers

    async def _serve(self, leadership: Leadership) -> bool:
        """A term of office; whether it came to the point of serving anybody."""
        if self._zk.session_id != leadership.session:
            return False
        self._service.epoch = leadership.epoch
        sender = Sender(self._id, leadership.epoch, self._endpoints)
        store = DurableStore(self._zk, leadership)
        self._term = Term(
            self._zk,
            store,
            sender,
            self._balance,
            self._now_ms,
            self._broker_listener,
            self._rules,
            partial(self._recorder.record, leadership.epoch),
            self._sampling,
            self._recorder.took,
        )
        try:
            return await self._term.serve(self._begin)
        finally:
            self._service.end()
            self._standby.forget()
            self._standby.brokers = self._term.brokers  # ZooKeeper may be away: clients still need to reach them
            self._term = None

    def _begin(self, office: TermServices) -> None:
        self._service.begin(office, self._zk.lease_left)
        self._first_look.set()

    def _session_over(self, _session: int) -> None:
        self._end_term()

    def _end_term(self) -> None:
        self._service.end()
        if self._term is not None:
            self._term.controller_moved()
        self._news.set()

    def _watch_fired(self, kind: WatchKind, path: str) -> None:
        if self._term is not None:
            self._term.watch_fired(kind, path)
        elif path == znode_paths.CONTROLLER or path.startswith(znode_paths.BROKER_IDS):
            self._news.set()
