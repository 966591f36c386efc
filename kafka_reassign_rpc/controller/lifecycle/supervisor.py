"""From standby to controller and back, for as long as the process runs.

    STANDBY      watches /controller; answers NOT_CONTROLLER; campaigns when /controller is gone
    FAILOVER     was elected: reads the cluster, decides about everything, connects to the brokers
    CONTROLLER   the loop runs, until a write is fenced, the session is over or another controller is elected

A lost connection ends no term while the session lives: no other can be elected then, and commands wait for the next
connection.

A server that has lost the controllership does not seize it back. It seizes only at its start, until it was elected
once, only from a stock broker, and only if `controller.takeover` is `always`.

A server whose id a broker registers with ends its term and the process: clients and brokers find the broker there.

A server without an authorizer does not control brokers that have one: it would allow every client what they refuse. As
soon as a broker says so it ends its term (`BrokersDoor`), unless `broker.authorizer` is `ignore`.

A server whose certificate brokers would not accept at its listener does not become the controller, and gives
the controllership back (`own_tls`). Neither does one without the listener on which brokers look for their controller.

A server never campaigns once a KRaft controller has copied the metadata. One that is the controller when a migration
begins goes on until the KRaft controller takes `/controller`: the brokers need a controller until then.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.controller_election import Leadership, Takeover
from kafka_reassign_rpc.controller.duties.broker_survey import BrokersDoor
from kafka_reassign_rpc.controller.lifecycle.controller_service import ControllerService, TermServices
from kafka_reassign_rpc.controller.lifecycle.own_tls import OwnTls
from kafka_reassign_rpc.controller.lifecycle.server_registration import (
    BrokerIdTaken,
    IdOfBroker,
    ServerRegistration,
)
from kafka_reassign_rpc.controller.lifecycle.standby import Standby
from kafka_reassign_rpc.controller.lifecycle.term import Term
from kafka_reassign_rpc.controller.lifecycle.term_duties import Surroundings
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import ZooKeeperStore
from kafka_reassign_rpc.controller_channel import Sender
from kafka_reassign_rpc.core.settings.broker_settings import SHOWN_BROKERS
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.support.counted import those
from kafka_reassign_rpc.support.host_port import Address, is_only_here
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.zookeeper import own_server_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.operations import WatchKind
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

log = logging.getLogger(__name__)

RETRY_S = 0.5
"""The pause after ZooKeeper did not answer, or a term ended before it served any client."""
FINISH_S = 0.04
"""How long the end of this server waits for the commands that it has accepted, and then for the end of its term, before
it gives the controllership back."""
_TO_BE_FOUND = (
    "Give it a listener of that name (--listeners), with an address that brokers reach (or --advertised-listeners)"
)
RESIGN_S = 2.0
"""How long it waits for ZooKeeper to delete `/controller`."""


class Supervisor:
    """`run` is the one task that makes this process the controller."""

    def __init__(
        self,
        around: Surroundings,
        endpoints: Callable[[], tuple[Endpoint, ...]],
        service: ControllerService,
        standby: Standby,
        registration: ServerRegistration,
        own_tls: OwnTls,
        door: BrokersDoor | None = None,
    ) -> None:
        self._around = around
        self._zk, config, self._survey, _, _, self._epochs = around
        self._id = config.server_id
        self._takeover = config.takeover
        self._may_seize = config.takeover is Takeover.ALWAYS
        self._endpoints = endpoints
        self._service = service
        self._standby = standby
        self._registration = registration
        self._own_tls = own_tls
        self._door = door
        self._changed = asyncio.Event()
        self._term: Term | None = None
        self._controller_known = asyncio.Event()
        self._odd_logged: dict[str, controller_election.Odd | None] = {}
        self._taken_logged = False
        self._kept_out_logged = ""
        self._is_cut_off = False
        self._running: asyncio.Task[None] | None = None
        self._zk.on_watch(self._watch_fired)
        self._zk.on_session_over(self._session_over)
        self._zk.on_disconnected(self._disconnected)
        self._zk.on_connected(self._connected)
        self._survey.on_authorizer = self._authorizer_changed
        self._survey.on_listeners = self._listeners_changed
        own_tls.on_change = self._certificates_changed

    async def start(self) -> None:
        self._running = asyncio.create_task(self.run(), name="supervisor")

    async def ready(self) -> None:
        assert self._running is not None
        known = asyncio.create_task(self._controller_known.wait())
        await asyncio.wait([known, self._running], return_when=asyncio.FIRST_COMPLETED)
        known.cancel()
        if self._running.done():
            self._running.result()

    async def ended(self) -> None:
        """Raises why this server no longer takes part in elections: IdOfBroker, or a defect."""
        assert self._running is not None
        await asyncio.wait([self._running])
        self._running.result()

    async def stop(self) -> None:
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)

    async def run(self) -> None:
        while True:
            self._changed.clear()
            try:
                may_wait = await self._take_part()
            except ZkError as error:
                self._log_cut_off(error)
                may_wait = False
            except IdOfBroker:
                self._standby.forget()
                raise
            except BrokerIdTaken as error:
                self._log_taken(error)
                with suppress(TimeoutError):
                    async with asyncio.timeout(RETRY_S):
                        await self._changed.wait()
                continue
            except BadZnode as error:
                self._log_odd(error.path, controller_election.invalid_epoch(error))
                may_wait = False
            except Exception:
                # A defect must not leave a process that looks alive and never controls again.
                log.exception("a defect ended this server's term; it takes part in the election again")
                may_wait = False
            if may_wait:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._standby.again_s):
                        await self._changed.wait()
            else:
                self._standby.forget()
                await asyncio.sleep(RETRY_S)

    def _log_cut_off(self, error: ZkError) -> None:
        """Warns once: this repeats every RETRY_S while ZooKeeper is away."""
        level = logging.DEBUG if self._is_cut_off else logging.WARNING
        log.log(level, "standing by: ZooKeeper does not answer (%s)", error)
        self._is_cut_off = True

    def _log_taken(self, error: BrokerIdTaken) -> None:
        if not self._taken_logged:
            log.error("standing by: %s", error)
        self._taken_logged = True

    def _log_odd(self, path: str, odd: controller_election.Odd | None, *, stands_by: bool = True) -> None:
        """Once for as long as the znode stays like this (None: nothing is odd)."""
        if odd is not None and odd != self._odd_logged.get(path):
            if stands_by:
                log.error("standing by: %s", odd)
            else:
                log.warning("%s", odd)
        self._odd_logged[path] = odd

    async def resign(self) -> None:
        """Begins to end `run`, and gives the controllership back: another server is elected at once. If the deletion of
        `/controller` fails, the end of the session, which follows, deletes it."""
        if self._running is None:
            return
        await self._service.finish(FINISH_S)
        self._running.cancel()
        await asyncio.wait([self._running], timeout=FINISH_S)
        try:
            async with asyncio.timeout(RESIGN_S):
                if await controller_election.resign(self._zk):
                    log.info("the controllership is given back: another server is elected at once")
        except (ZkError, TimeoutError) as error:
            log.info("the controllership ends with the session (%s)", error or "ZooKeeper does not answer")

    async def _take_part(self) -> bool:
        """Finds the controller; if there is none, becomes it. Returns whether there is nothing to do until something
        changes."""
        while True:
            owner = await self._standby.refresh()
            self._is_cut_off = False
            await self._registration.check_no_broker(self._standby.brokers)
            self._survey.set_brokers(self._standby.brokers)
            try:
                await self._registration.ensure(self._endpoints())
            except BrokerIdTaken:
                if owner is not None:
                    self._controller_known.set()
                raise
            self._taken_logged = False
            if not self._may_campaign(owner):
                self._may_seize = False
                if owner is None:
                    log.info("standing by: there is no controller, and this server never takes over")
                else:
                    odd = controller_election.invalid_owner(owner)
                    if owner.kraft_epoch is not None:
                        await own_server_znodes.mark_kraft(self._zk)
                    if odd is None:
                        log.info("standing by: %d is the controller", owner.id)
                    self._log_odd(znode_paths.CONTROLLER, odd)
                    self._controller_known.set()
                return True
            found = controller_election.migration(await controller_election.read_migration(self._zk, watch=True))
            self._log_odd(znode_paths.MIGRATION, found.odd, stands_by=found.stops)
            if found.stops and not self._owns(owner):
                self._may_seize = False
                return True
            if await self._is_kept_out(owner):
                return True
            leadership = await controller_election.campaign(
                self._zk, self._id, self._endpoints(), now_ms, seize=owner, highest=self._epochs.highest
            )
            self._log_odd(znode_paths.CONTROLLER_EPOCH, None)
            if leadership is None:
                return False
            self._may_seize = False
            if not await self._serve(leadership):
                return False

    async def _is_kept_out(self, owner: controller_election.ControllerOwner | None) -> bool:
        """Whether this server must not control the brokers: they have an authorizer that it lacks, would not connect to
        it, or look for their controller elsewhere. It then gives the controllership back.
        """
        await self._survey.first_answer()
        if self._why_not_found or (owner is not None and not self._owns(owner)):
            # all are named at once; and who controls them goes on until they have said
            await self._survey.all_answered()
        closed = self._why_closed
        why = closed or await self._why_unreachable() or self._why_not_found
        if why and why != self._kept_out_logged:
            log.error("standing by%s: %s", ", and refusing all that needs a right" if closed else "", why)
        self._kept_out_logged = why
        self._standby.is_kept_out = bool(why)
        if not why:
            return False
        if self._owns(owner):
            await controller_election.resign(self._zk)
        elif owner is not None:
            self._controller_known.set()
        return True

    @property
    def _why_closed(self) -> str:
        return "" if self._door is None or self._door.may_control else self._door.why_closed

    async def _why_unreachable(self) -> str:
        await self._own_tls.known()
        return self._unreachable

    @property
    def _unreachable(self) -> str:
        found = self._own_tls.found.kept_out
        return "" if found is None else f"{found}. It takes part in elections again once that works"

    @property
    def _why_not_found(self) -> str:
        """Where brokers do not find it they cannot report ISRs: no move ends, and no lost replica leaves an ISR."""
        offered = {one.listener: one for one in self._endpoints()}
        looking: dict[str, list[int]] = {}
        for broker, (name, is_far) in self._survey.looking().items():
            at = offered.get(name)
            if at is None:
                where = f"on {name}, and this server has {', '.join(offered)}"
            elif is_far and is_only_here(at.host):
                where = f"at {Address(at.host, at.port)}, where others do not reach this server"
            else:
                continue
            looking.setdefault(where, []).append(broker)
        if not looking:
            return ""
        found = (
            f"{those(brokers, verb='look', most=SHOWN_BROKERS)} for a controller {where}"
            for where, brokers in looking.items()
        )
        return f"{'; '.join(found)}: no ISR could be reported to it. {_TO_BE_FOUND}"

    def _listeners_changed(self) -> None:
        if why := self._why_not_found:
            self._end_term(why)
        self._changed.set()

    def _certificates_changed(self) -> None:
        if self._unreachable:
            self._end_term(self._unreachable)
        self._changed.set()

    def _authorizer_changed(self) -> None:
        if self._door is not None and not self._door.may_control:
            self._end_term(self._door.why_closed)

    def _may_campaign(self, owner: controller_election.ControllerOwner | None) -> bool:
        """No owner; this session, from before a lost connection; or, at the start, a broker."""
        if self._takeover is Takeover.NEVER:
            return False
        if owner is None or self._owns(owner):
            return True
        return self._may_seize and owner.kraft_epoch is None and owner.id in self._standby.brokers

    def _owns(self, owner: controller_election.ControllerOwner | None) -> bool:
        return owner is not None and owner.session == self._zk.session_id

    async def _serve(self, leadership: Leadership) -> bool:
        if self._zk.session_id != leadership.session:
            return False
        self._epochs.elected(leadership.epoch)
        self._service.epoch = leadership.epoch
        self._service.since_ms = now_ms()
        sender = Sender(self._id, leadership.epoch, self._endpoints(), leadership.zxid)
        survey, started_with = self._around.survey, self._around.config.started_with
        store = ZooKeeperStore(self._zk, leadership, lambda: survey.settings, started_with)
        self._term = Term(self._around, store, sender)
        self._standby.remember(self._term)
        try:
            return await self._term.serve(self._begin)
        finally:
            self._service.end()
            self._standby.forget()
            self._term = None

    def _begin(self, term: TermServices) -> None:
        self._service.begin_term(term, self._zk.lease_left)
        self._controller_known.set()

    def _session_over(self, _session: int) -> None:
        self._end_term()

    def _end_term(self, *why: str) -> None:
        self._service.end()
        if self._term is not None:
            self._term.controller_moved(*why)
        self._changed.set()

    def _disconnected(self) -> None:
        if self._term is not None:
            self._term.connection_lost(self._zk.lease_left())

    def _connected(self) -> None:
        """The connection has the same session, or a new one: then the term has ended before."""
        if self._term is not None:
            self._term.connected_again()
        self._changed.set()  # a standby's watches are gone

    def _watch_fired(self, kind: WatchKind, path: str) -> None:
        if self._term is not None:
            self._term.watch_fired(kind, path)
        elif path in (znode_paths.CONTROLLER, znode_paths.MIGRATION) or path.startswith(znode_paths.BROKER_IDS):
            self._changed.set()
