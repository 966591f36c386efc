"""The present state of this server: its role, and the values that metrics and `/ready` show."""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.controller.lifecycle.controller_service import ControllerService
from kafka_reassign_rpc.controller.lifecycle.own_tls import OwnTls
from kafka_reassign_rpc.controller.lifecycle.served_acls import AclKeeper
from kafka_reassign_rpc.controller.lifecycle.standby import Standby
from kafka_reassign_rpc.controller.lifecycle.term_duties import Surroundings
from kafka_reassign_rpc.controller.telemetry.server_status import ServerStatus
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import ControllerView, ServerView
from kafka_reassign_rpc.support.product_version import product_version
from kafka_reassign_rpc.support.wall_clock import now_ms


class Role(NamedTuple):
    role: str
    reason: str
    controller: int | None


class ServerState:
    def __init__(
        self,
        around: Surroundings,
        service: ControllerService,
        standby: Standby,
        acls: AclKeeper | None,
        own_tls: OwnTls,
    ) -> None:
        self._around = around
        self._service = service
        self._standby = standby
        self._acls = acls
        self._own_tls = own_tls
        self.cluster_id = ""
        """Known once ZooKeeper is connected."""
        self.pages: Mapping[int, str] = {}
        """The addresses of status pages, by server."""

    @property
    def brokers(self) -> Mapping[int, Broker]:
        cluster = self._service.cluster
        return self._standby.brokers if cluster is None else cluster.brokers

    def role(self) -> Role:
        is_controller = self._service.cluster is not None
        controller = self._around.config.server_id if is_controller else self._standby.controller_id()
        if not self._around.zk.connected:
            return Role("", "ZooKeeper is not connected", controller)
        if self._acls is not None and not self._acls.authorizer.loaded:
            return Role("", "the ACLs are not loaded yet: only super users are admitted", controller)
        if is_controller:
            return Role("controller", "", controller)
        if controller is not None:
            return Role("standby", "", controller)
        return Role("", "no controller is known: an election or a controller failover is under way", controller)

    def view(self) -> ServerView:
        role, reason, controller = self.role()
        service, standby, config = self._service, self._standby, self._around.config
        term = service.view()
        return ServerView(
            server=config.server_id,
            cluster_id=self.cluster_id,
            role=role,
            reason=reason,
            controller=ControllerView(
                controller,
                None if term is None else service.epoch,
                standby.controller_since() if term is None else service.since_ms,
                None if controller is None else self.pages.get(controller),
            ),
            brokers=standby.brokers if term is None else term.cluster.brokers,
            term=term,
            certificates=self._own_tls.found,
        )

    def status(self) -> ServerStatus:
        zk, config, _, recorder, _, _ = self._around
        return ServerStatus(
            document=status_of(self.view(), at=now_ms(), version=product_version(), full=True),
            connected=zk.connected,
            round_trip=zk.round_trip,
            events_lost=recorder.lost,
            healing=self._service.repairs,
            refusing=config.links.troubles,
            figures=self._service.figures(),
            webhooks=recorder.notified,
            certificates=self._own_tls.found,
        )
