"""The server process: which cluster is in ZooKeeper, and whether there is one at all that this server may join; a
ZooKeeper session, listeners, election, metrics. `_all_parts` has what starts and stops.
"""

import asyncio
import logging
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial
from uuid import uuid4

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.controller.duties.broker_survey import BrokersDoor, BrokerSurvey
from kafka_reassign_rpc.controller.duties.client_config_keeper import ClientConfigKeeper
from kafka_reassign_rpc.controller.duties.learnt_settings import SettingsNotices
from kafka_reassign_rpc.controller.duties.producer_ids import BLOCK, first_free
from kafka_reassign_rpc.controller.lifecycle.client_listeners import ClientListeners
from kafka_reassign_rpc.controller.lifecycle.controller_service import ControllerService
from kafka_reassign_rpc.controller.lifecycle.own_tls import OwnTls
from kafka_reassign_rpc.controller.lifecycle.served_acls import AclKeeper
from kafka_reassign_rpc.controller.lifecycle.served_http import ServedHttp, ServedStatus, ServerState
from kafka_reassign_rpc.controller.lifecycle.server_config import FULL, OFF, ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_registration import ServerRegistration
from kafka_reassign_rpc.controller.lifecycle.standby import KRaftBrokers, Standby
from kafka_reassign_rpc.controller.lifecycle.supervisor import Supervisor
from kafka_reassign_rpc.controller.lifecycle.term_duties import Surroundings
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder
from kafka_reassign_rpc.controller.telemetry.webhooks import Webhooks
from kafka_reassign_rpc.core.failover import KnownEpochs
from kafka_reassign_rpc.core.quotas.client_quotas import QuotaTable
from kafka_reassign_rpc.core.reassignment.move_sums import FigureHistory
from kafka_reassign_rpc.core.state.partition import topic_id_text
from kafka_reassign_rpc.server.server_limits import ServerStats
from kafka_reassign_rpc.status_page.keepers import FigureKeeper
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.tasks import Background, HasParts, Part, Parts, nothing
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import BadVersion, NoAuth, NodeExists, NoNode

log = logging.getLogger(__name__)


async def connect(zk: ZooKeeper, config: ServerConfig) -> None:
    """Also makes the paths that servers need. Raises NotSent, MigrationToKRaft, NoCluster."""
    await zk.start(config.connection_timeout_ms / 1000)
    found = controller_election.migration(await controller_election.read_migration(zk))
    if found.stops:
        raise controller_election.MigrationToKRaft(str(found.odd))
    if not config.new_cluster:
        await check_cluster_exists(zk, config.takeover)
    for path in (*znode_paths.PERSISTENT, *znode_paths.OWN):
        await zk.ensure_path(path)
    await _fill_producer_ids(zk)


async def _fill_producer_ids(zk: ZooKeeper) -> None:
    """Servers up to 0.2.0 created this znode with empty data: a stock controller gives out no ids then, and a migration
    stops. A block that is given to no one takes its place."""
    path = znode_paths.PRODUCER_ID_BLOCK
    with suppress(NoNode, NoAuth, BadVersion):
        data, stat = await zk.get_or_null(path)
        if data == b"":
            first = first_free(None, stat.version)
            block = znode_contents.encode_producer_id_block(-1, first, first + BLOCK - 1)
            await zk.set(path, block, stat.version)
            log.warning(
                "%s was empty, which no stock controller can read: producer ids up to %d count as given out",
                path,
                first + BLOCK - 1,
            )


async def cluster_id(zk: ZooKeeper) -> str:
    """Creates the id as brokers do; empty if it cannot be decoded."""
    while True:
        try:
            data, _ = await zk.get(znode_paths.CLUSTER_ID)
            return znode_contents.decode_cluster_id(data)
        except BadZnode as error:
            log.error("clients see no cluster id until it is repaired: %s", error)
            return ""
        except NoNode:
            try:
                await zk.create(znode_paths.CLUSTER_ID, znode_contents.encode_cluster_id(topic_id_text(uuid4())))
            except NodeExists:
                continue


class NoCluster(RuntimeError):
    """There is no controller, no broker and no topic below the chroot."""


async def check_cluster_exists(zk: ZooKeeper, takeover: Takeover) -> None:
    """Detects a mistyped chroot, which looks like a new cluster. Raises NoCluster unless this server always takes
    over."""
    if await zk.exists(znode_paths.CONTROLLER) is not None:
        return
    for path in (znode_paths.BROKER_IDS, znode_paths.TOPICS):
        found = await zk.exists(path)
        if found is not None and found.num_children:
            return
    problem = (
        f"no broker is registered and no topic exists in ZooKeeper at {zk.connect}: is the chroot of zookeeper.connect"
        " that of the brokers?"
    )
    if takeover is not Takeover.ALWAYS:
        raise NoCluster(f"{problem} With controller.takeover={takeover} a server waits for no new cluster")
    log.warning("%s This server controls a cluster without brokers until they come", problem)


POLL_S = 0.02


class ControllerProcess(HasParts):
    """`async with ControllerProcess(config) as server: await server.ready()`. At the end it gives the controllership
    back at once; then it answers the requests that have arrived, and disconnects."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._zk = zk = ZooKeeper(
            config.zookeeper_connect, session_timeout_ms=config.session_timeout_ms, access=config.zookeeper_access
        )
        survey = BrokerSurvey(
            str(config.server_id), config.links, config.own_broker_settings(), refuses=config.refuses_by_policy
        )
        event_log = None if config.event_log is None else config.event_log.event_log()
        hooks = config.webhooks
        notifier = Webhooks(hooks, lambda: self._cluster_id or None, config.server_id) if hooks else None
        recorder = EventRecorder(now_ms, event_log, config.server_id, notifier=notifier)
        self._around = around = Surroundings(zk, config, survey, recorder, SettingsNotices(), KnownEpochs())
        history, stats, quotas = FigureHistory(), ServerStats(), QuotaTable()
        service, standby = ControllerService(), Standby(zk, KRaftBrokers(config.links, str(config.server_id)))
        figures = FigureKeeper(service.view, history)
        is_guarded = config.authorizer is None and config.refuses_without_authorizer
        self._door = BrokersDoor(survey) if is_guarded else None
        self._acl_zk = config.zookeeper_of_acls()
        """None if the cluster's ZooKeeper has the ACLs, too."""
        of = config.authorizer
        self._acls = None if of is None else AclKeeper(self._acl_zk or zk, of.acl_authorizer())
        own_tls = OwnTls(config, lambda: self._listeners.endpoints())  # noqa: PLW0108 (made later)
        self._state = state = ServerState(around, service, standby, self._acls, own_tls)
        is_shown = config.metrics_listener is not None and config.status_page != OFF
        self._page = ServedStatus(config, state, figures, is_shown=is_shown, full=config.status_page == FULL)
        self._http = None if config.metrics_listener is None else ServedHttp(config, state, stats, self._page)
        if self._http is not None:
            recorder.counter = self._http.observers
        self._registration = registration = ServerRegistration(zk, config.server_id, self._page_address)
        self._listeners = ClientListeners(
            around, service, standby, registration, self._page, self._acls, self._door, quotas, stats
        )
        credentials = config.sasl.credentials if config.sasl is not None and config.sasl.needs_credentials else None
        self._client_configs = ClientConfigKeeper(zk, quotas, credentials)
        self._supervisor = Supervisor(
            around, self._listeners.endpoints, service, standby, registration, own_tls, self._door
        )
        certificates = [one.tls.keep for one in config.security.values() if one.tls]
        keepers = [("certificates", keep) for keep in (config.links.keep, config.zookeeper_access.keep, *certificates)]
        self._background = Background([*keepers, ("figures", figures.keep)])
        self._handshakes = Background([("handshakes with itself", own_tls.keep)])
        self._cluster_id = ""
        self._parts = Parts(list(self._all_parts()))

    def _all_parts(self) -> Iterator[Part]:
        config, recorder, survey = self._config, self._around.recorder, self._around.survey
        if config.sasl is not None:
            yield Part(config.sasl.start, config.sasl.close)
        if self._http is not None:
            yield Part(self._http.start, self._http.close)
            yield Part(self._http.background.start, self._http.background.close)
        yield Part(self._join_cluster, self._zk.close)
        yield Part(recorder.open, recorder.close)
        if self._acl_zk is not None and config.authorizer is not None:
            timeout_ms = config.authorizer.zookeeper_connection_timeout_ms or config.connection_timeout_ms
            yield Part(partial(self._acl_zk.start, timeout_ms / 1000), self._acl_zk.close)
        if self._acls is not None:
            yield Part(self._acls.start, self._acls.close)
        yield Part(lambda: self._page.start(self._registration, self._cluster_id, recorder), self._page.close)
        yield Part(nothing, survey.close)
        yield Part(self._background.start, self._background.close)
        yield Part(nothing, self._supervisor.stop)
        yield Part(self._client_configs.start, self._client_configs.close)
        yield Part(lambda: self._listeners.start(self._cluster_id), self._listeners.close)
        yield Part(self._handshakes.start, self._handshakes.close)
        yield Part(self._supervisor.start, self._supervisor.resign)

    def _page_address(self) -> str | None:
        of = self._config
        return None if self._http is None else self._http.page_address((of.advertised or of.listeners)[0].host)

    async def _join_cluster(self) -> None:
        await connect(self._zk, self._config)
        if self._door is not None:
            self._door.acls_exist = await self._zk.exists(znode_paths.ACLS) is not None
        await self._registration.check_free()
        self._cluster_id = await cluster_id(self._zk)

    @property
    def metrics_address(self) -> str | None:
        return None if self._http is None else self._http.address

    @property
    def bootstrap(self) -> str:
        first = self._listeners.endpoints()[0]
        return str(Address(first.host, first.port))

    def live_brokers(self) -> list[int]:
        return sorted(self._state.brokers)

    async def brokers_seen(self, wanted: Collection[int]) -> None:
        while not set(wanted) <= self._state.brokers.keys():  # noqa: ASYNC110 (once, at the start of a demonstration)
            await asyncio.sleep(POLL_S)

    async def ready(self) -> None:
        await self._supervisor.ready()

    async def ended(self) -> None:
        """As `Supervisor.ended`."""
        await self._supervisor.ended()
