"""A server in front of a cluster in KRaft mode. `_all_parts` has what starts and stops."""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.dispatch import Dispatcher
from kafka_reassign_rpc.client.client_settings import ClientSettings
from kafka_reassign_rpc.controller.duties.learnt_settings import SettingsNotices
from kafka_reassign_rpc.controller.lifecycle.client_listeners import listening
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesService, MovesTerm
from kafka_reassign_rpc.controller.lifecycle.served_http import ServedHttp
from kafka_reassign_rpc.controller.lifecycle.server_config import FULL, OFF, ServerConfig
from kafka_reassign_rpc.controller.store import ControllerMoved
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder, RecordedEvents
from kafka_reassign_rpc.controller.telemetry.server_status import ServerStatus
from kafka_reassign_rpc.controller.telemetry.webhooks import Webhooks
from kafka_reassign_rpc.core.acls.acl_binding import AclOperation
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.reassignment.move_sums import FigureHistory
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import ControllerView, ServerView
from kafka_reassign_rpc.kraft import importing, round_records
from kafka_reassign_rpc.kraft.front import Front, FrontSettings
from kafka_reassign_rpc.kraft.front.answer_patches import Shown, shown
from kafka_reassign_rpc.kraft.front.front import HeldRequests
from kafka_reassign_rpc.kraft.importing import ToImport
from kafka_reassign_rpc.kraft.kraft_node import MOVES_APIS, ClusterQuotas, KRaftNode, ServedSettings
from kafka_reassign_rpc.kraft.kraft_store import look_until_answered
from kafka_reassign_rpc.kraft.ports import LookFailed
from kafka_reassign_rpc.kraft.sightings import settling
from kafka_reassign_rpc.kraft.standby import ServerName, Standby
from kafka_reassign_rpc.kraft.state_log.log_errors import LogLost, LogRefused, LogUnavailable
from kafka_reassign_rpc.kraft.state_log.log_reading import LEAD_S, Term
from kafka_reassign_rpc.kraft.state_log.state_log import StateLog
from kafka_reassign_rpc.kraft.term import Claimed, ClaimedLog, KRaftTerm
from kafka_reassign_rpc.kraft.term_duties import Asked
from kafka_reassign_rpc.kraft.upstream import Upstream
from kafka_reassign_rpc.kraft.upstream_cluster import UpstreamCluster
from kafka_reassign_rpc.server.server_limits import ServerStats
from kafka_reassign_rpc.status_page.keepers import FigureKeeper
from kafka_reassign_rpc.status_page.status_api import StatusApi
from kafka_reassign_rpc.support.host_port import Address, page_of_server
from kafka_reassign_rpc.support.product_version import product_version
from kafka_reassign_rpc.support.tasks import Background, HasParts, Part, Parts, end, nothing
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.support.wall_clock import now_ms

if TYPE_CHECKING:
    from kafka_reassign_rpc.server.http_server import Page

log = logging.getLogger(__name__)

RANKS = 3
"""Servers with different remainders of their ids do not claim at the same time."""
ANSWERS_S = 2.0
"""So long waiting requests have at the end of the process."""
NEEDED = frozenset(
    {AclOperation.DESCRIBE, AclOperation.ALTER, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS}
)
"""Rights on the cluster: to see moves and configs of brokers, and to change them."""
ALIVE = 2
"""A server that was killed may have had one heartbeat on its way: with so many, one of this server's id lives."""
CLAIMED = "this server has claimed the state log, and leads once it has looked at the cluster"
NOBODY_LEADS = "no server leads: one claims the state log once the former one has been silent for a while"


class KRaftConfig(msgspec.Struct, frozen=True, kw_only=True):
    """upstream        configs of the client, for looks and for what the cluster is told
    of_controllers  the same at the controllers' listener; None: nobody changes configs of dead brokers
    client          the same as settings, for the state log
    asked           how brokers are asked for progress
    lead_s          a server that is silent for so long is replaced
    imports         a file of `leave --export`, to be taken in
    common          what servers in front of ZooKeeper have, too: settings of reassignments, limits, telemetry
    """

    upstream: Mapping[str, Any]
    client: ClientSettings
    asked: Asked
    front: FrontSettings
    of_controllers: Mapping[str, Any] | None = None
    lead_s: float = LEAD_S
    imports: Path | None = None
    common: ServerConfig


class KRaftProcess(HasParts):
    """`async with KRaftProcess(config) as server: await server.ready()`. Starting raises LogError, and CannotListen."""

    def __init__(self, config: KRaftConfig) -> None:
        self._config = config
        self._id = node_id = config.front.node_id
        common, stats = config.common, ServerStats()
        event_log = None if common.event_log is None else common.event_log.event_log()
        hooks = common.webhooks
        notifier = Webhooks(hooks, lambda: self._upstream_cluster.cluster_id or None, node_id) if hooks else None
        self._recorder = EventRecorder(now_ms, event_log, node_id, notifier=notifier)
        self._service = MovesService()
        self._figures = FigureKeeper(self._service.view, FigureHistory())
        is_full = common.status_page == FULL
        self._api = StatusApi(self.view, self._readers, self._figures, product_version(), full=is_full)
        settings = ServedSettings(node_id, self._service)
        node = KRaftNode(
            node_id,
            self._service,
            self._api,
            self._recorder,
            lambda: self._front.address,
            settings,
            common.started_with,
        )
        handler = Dispatcher(node, on_denied=self._report_denied)
        self._held = HeldRequests(self._is_led)
        self._upstream = Upstream(config.upstream, self._may_tell, config.of_controllers)
        self._quotas = ClusterQuotas(self._upstream.quotas)
        self._front = Front(
            config.front,
            handler,
            common.limits,
            self._quotas.table,
            stats=stats,
            leader=self._leader_shown,
            led=self._held.led,
        )
        self._upstream_cluster = UpstreamCluster(self._upstream, config.client.configs.security_protocol)
        self._log = StateLog(config.client, lead_s=config.lead_s, rank=node_id % RANKS)
        self._standby = Standby(self._log)
        self._claimed: ClaimedLog | None = None
        """None while this server does not lead."""
        self._term: KRaftTerm | None = None
        self._to_import: ToImport | None = None
        self._taken = ""
        """Which other server leads with the id of this one."""
        self._notices = SettingsNotices()
        self._stopped = ""
        """Why it does not lead until it is started again."""
        self._leads: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._background = Background([("figures", self._figures.keep), ("quotas", self._quotas.run)])
        self._http = None if common.metrics_listener is None else ServedHttp(common, self, stats, self)
        if self._http is not None:
            self._recorder.counter = self._http.observers
        self._parts = Parts(list(self._all_parts()))

    def _all_parts(self) -> Iterator[Part]:
        if self._http is not None:
            yield Part(self._http.start, self._http.close)
            yield Part(self._http.background.start, self._http.background.close)
        yield Part(self._recorder.open, self._recorder.close)
        yield Part(self._upstream.start, self._upstream.close)
        yield Part(self._look, nothing)
        yield Part(self._read_import, nothing)
        yield Part(self._log.open, self._log.close)
        yield Part(nothing, self._api.close)
        yield Part(self._background.start, self._background.close)
        yield Part(self._listen, self._front.close)
        yield Part(self._begin, self._end)

    async def ready(self) -> None:
        """Returns once a server leads. Raises as `ended`."""
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait([ready, self._leading], return_when=asyncio.FIRST_COMPLETED)
            if self._leading.done():
                self._leading.result()
        finally:
            await end(ready)

    async def ended(self) -> None:
        """Raises a defect; does not end otherwise."""
        await asyncio.wait([self._leading])
        self._leading.result()

    @property
    def _leading(self) -> asyncio.Task[None]:
        assert self._leads is not None, "it is started"
        return self._leads

    @property
    def bootstrap(self) -> str:
        return str(self._front.address)

    @property
    def brokers(self) -> list[int]:
        return sorted(self._upstream_cluster.brokers)

    async def _look(self) -> None:
        """Raises LogRefused for ZooKeeper mode and for a missing right, LogUnavailable."""
        try:
            await self._upstream.require_kraft()
            if missing := NEEDED - await self._upstream.allowed():
                what = ", ".join(sorted(one.name for one in missing))
                raise LogRefused(f"the login of this server (command.config) lacks {what} on the cluster")
            await self._upstream_cluster.look([])
            if self._id in self._upstream_cluster.brokers:
                raise LogRefused(f"broker {self._id} has the id of this server: give it another one (broker.id)")
        except (KafkaError, LookFailed) as error:
            raise LogUnavailable(f"the cluster does not tell what moves: {error}") from error

    async def _read_import(self) -> None:
        """Raises WrongFile."""
        if self._config.imports is not None:
            cluster_id = self._upstream_cluster.cluster_id
            self._to_import = await asyncio.to_thread(importing.read, self._config.imports, cluster_id)

    async def _import(self, claimed: ClaimedLog) -> None:
        """Takes the file in, if the log does not have it. Raises ControllerMoved, LogRefused."""
        asked, intents = self._to_import, self._standby.intents
        if asked is None:
            return
        if asked.digest in intents.imported:
            log.info("%s was taken in before, and changes nothing", asked.path)
            return
        async with claimed.kept():
            look = await look_until_answered(partial(self._upstream_cluster.assignments, asked.topics))
            record, text = importing.imported(asked, look, intents, now_ms())
            pieces = await asyncio.to_thread(lambda: [*round_records.documents(record)])
            try:
                offset = await claimed.commit([data for _, data in pieces])
            except ValueError:
                what = f"{asked.path} has more than one commit of the state log can have: divide it"
                raise LogRefused(what) from None
        pace = Pace()
        for piece, _ in pieces:
            for _ in intents.apply(piece, offset):
                await pace.rest()
        log.info("%s", text)
        if lost := importing.settings_text(asked):
            log.warning("%s", lost)

    async def _listen(self) -> None:
        own = self._config.front.listener
        with listening("listeners", f"{own.name}://{Address(own.host, own.port)}"):
            await self._front.start()
        endpoints = {one: broker.endpoints[0] for one, broker in self._upstream_cluster.brokers.items()}
        await self._front.learn({one: Address(at.host, at.port) for one, at in endpoints.items()})
        self._log.server = str(self._name)
        self._log.page = self._page

    @property
    def _name(self) -> ServerName:
        return ServerName(self._id, self._front.address)

    @property
    def _page(self) -> str:
        """The address of the status page for clients, "" without one."""
        return "" if self._http is None else self._http.page_address(self._front.address.host) or ""

    # ------------------------------------------------------------------------------------------------ leading

    async def _begin(self) -> None:
        self._leads = asyncio.create_task(self._lead_again(), name="lead")

    async def _end(self) -> None:
        await self._service.finish(ANSWERS_S)
        if self._leads is not None and not self._leads.done():
            await end(self._leads)

    async def _lead_again(self) -> None:
        self._standby.on_leader = self._hears_heartbeat
        try:
            while True:
                await self._lead(await self._standby.claimed())
        except (LogLost, LogRefused) as error:
            self._stopped = str(error)
            log.critical(
                "until it is started again, this server decides nothing and tells the cluster nothing: %s", error
            )
            self._hears_leader()
            await asyncio.Event().wait()

    async def _lead(self, term: Term) -> None:
        """Raises LogLost, LogRefused."""
        self._taken = ""
        self._claimed = claimed = ClaimedLog(self._log, str(self._name), self._config.lead_s)
        record = partial(self._recorder.record, term.claim_offset)
        self._upstream_cluster.forget_configs()
        self._term = KRaftTerm(
            Claimed(claimed, self._standby.intents, term.claim_offset),
            self._upstream_cluster,
            now_ms,
            record,
            self._config.asked,
            self._config.common.started_with,
            written=self._recorder.written,
            settling=settling(self._config.lead_s, self._config.client.configs.request_timeout_ms / 1000),
            notices=self._notices,
        )
        self._service.epoch, self._service.since_ms = term.claim_offset, now_ms()
        record([Event(catalogue.CONTROLLER_ELECTED)])
        why = "it ends"
        try:
            await self._import(claimed)
            why = await self._term.serve(self._serves)
        except ControllerMoved as reason:
            why = str(reason)
        finally:
            self._service.end()
            self._term = self._claimed = None
            record([Event(catalogue.CONTROLLER_RESIGNED, reason=why)])
        if isinstance(claimed.trouble, LogLost | LogRefused):
            raise claimed.trouble

    def _serves(self, term: MovesTerm) -> None:
        assert self._claimed is not None
        claimed = self._claimed
        self._service.begin(term, lambda: claimed.lease_left)
        self._hears_leader()

    def _hears_heartbeat(self) -> None:
        leader, taken = self._leader(), ""
        if self._claimed is None and leader is not None and leader.id == self._id:
            if self._standby.beats < ALIVE:
                return
            taken = f"another server has its id, {self._id}, and leads at {leader.at}: give one another broker.id"
            if taken != self._taken:
                log.error("while that one leads, this server decides nothing: %s", taken)
        self._taken = taken
        self._hears_leader()

    def _hears_leader(self) -> None:
        self._ready.set()
        self._held.news()

    def _is_led(self) -> bool:
        """Also where this server waits for its start."""
        return self._service.is_active() or bool(self._no_part) or self._leader() not in (None, self._name)

    def _may_tell(self) -> bool:
        return self._claimed is not None and self._claimed.lease_left > 0

    # ------------------------------------------------------------------------------------------------ what is seen

    def _leader(self) -> ServerName | None:
        """As far as it was heard lately."""
        if self._claimed is not None:
            return self._name
        silent_s = asyncio.get_running_loop().time() - self._standby.heard_at
        return ServerName.of(self._standby.leader.name) if silent_s < self._config.lead_s else None

    def _leader_shown(self, brokers: Iterable[int]) -> Shown | None:
        """None: this server."""
        leader = self._leader()
        if leader is None or leader == self._name:
            return None
        return shown(self._config.front.nodes, leader.id, leader.at, brokers)

    def view(self) -> ServerView:
        term, leader = self._service.view(), self._leader()
        told = self._page if leader == self._name else self._standby.leader.page
        page = None if leader is None else page_of_server(told)
        role, reason = "controller", ""
        if term is None:
            is_standby = leader is not None and leader != self._name and not self._no_part
            role, reason = ("standby", "") if is_standby else ("", self._why_no_role())
        return ServerView(
            server=self._id,
            cluster_id=self._upstream_cluster.cluster_id,
            role=role,
            reason=reason,
            controller=ControllerView(
                None if leader is None else leader.id,
                None if term is None else self._service.epoch,
                None if term is None else self._service.since_ms,
                page,
            ),
            brokers=self._upstream_cluster.brokers,
            term=term,
        )

    def _why_no_role(self) -> str:
        claimed = CLAIMED if self._claimed is not None else NOBODY_LEADS
        return self._no_part or self._log.in_the_way or claimed

    @property
    def _no_part(self) -> str:
        """Why this server takes no part, "" where it does. Its id is its own again once the other one is silent."""
        return self._stopped or (self._taken if self._leader() is not None else "")

    @property
    def pages(self) -> "Mapping[str, Page]":
        """Of the status page, which there may be none of."""
        return {} if self._config.common.status_page == OFF else self._api.pages

    @property
    def metrics_address(self) -> str | None:
        return None if self._http is None else self._http.address

    def status(self) -> ServerStatus:
        return ServerStatus(
            document=status_of(self.view(), at=now_ms(), version=product_version(), full=True),
            connected=self._leader() is not None and (self._claimed is None or self._may_tell()),
            round_trip=None,
            events_lost=self._recorder.lost,
            refusing=self._config.asked.links.troubles,
            figures=self._service.figures(),
            webhooks=self._recorder.notified,
        )

    async def _readers(self) -> Mapping[int, RecordedEvents]:
        return {self._id: RecordedEvents(self._recorder)}

    def _report_denied(self, ctx: RequestContext) -> None:
        epoch = None if self._service.cluster is None else self._service.epoch
        reason = f"{MOVES_APIS[ctx.api_key].name}: {ctx.access.describe_denied()}"
        self._recorder.record(
            epoch, [Event(catalogue.ACCESS_DENIED, reason=reason, count=ctx.access.refusals).asked_by(ctx.requester)]
        )
