"""What this server is now: its role, and the values that metrics and `/ready` show."""

from collections import Counter
from collections.abc import Mapping

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.duties.acl_keeper import AclKeeper
from kafka_reassign_rpc.controller.lifecycle.controller_service import ControllerService
from kafka_reassign_rpc.controller.lifecycle.served_status import Role
from kafka_reassign_rpc.controller.lifecycle.standby import Standby
from kafka_reassign_rpc.controller.lifecycle.term_duties import Surroundings
from kafka_reassign_rpc.controller.telemetry.metrics import ServerStatus
from kafka_reassign_rpc.core.state.cluster import BATCH, Broker, Cluster


class ServerState:
    """Reads them from the parts of the server that know them."""

    def __init__(
        self, around: Surroundings, service: ControllerService, standby: Standby, acls: AclKeeper | None
    ) -> None:
        self._around = around
        self._service = service
        self._standby = standby
        self._acls = acls

    @property
    def brokers(self) -> Mapping[int, Broker]:
        """The registered brokers."""
        cluster = self._service.cluster
        return self._standby.brokers if cluster is None else cluster.brokers

    def role(self) -> Role:
        controller = self._standby.controller_id()
        if not self._around.zk.connected:
            return Role("", "ZooKeeper is not connected", controller)
        if self._acls is not None and not self._acls.authorizer.loaded:
            return Role("", "the ACLs are not loaded yet: only super users are admitted", controller)
        if self._service.cluster is not None:
            return Role("controller", "", self._around.config.server_id)
        if controller != controller_election.UNKNOWN:
            return Role("standby", "", controller)
        return Role("", "no controller is known: an election or a controller failover is under way", controller)

    def status(self) -> ServerStatus:
        zk, config, _, recorder, _ = self._around
        cluster, (role, reason, controller) = self._service.cluster, self.role()
        return ServerStatus(
            role=role,
            reason=reason,
            controller=controller,
            epoch=-1 if cluster is None else self._service.epoch,
            moving=0 if cluster is None else sum(map(len, cluster.moving.values())),
            waiting={} if cluster is None else _waiting(cluster),
            brokers=len(self.brokers),
            connected=zk.connected,
            round_trip=zk.round_trip,
            events_lost=recorder.lost,
            progress=self._service.totals,
            healing=self._service.repairs,
            refusing=config.links.troubles,
            figures=self._service.figures(config.settings),
        )


def _waiting(cluster: Cluster) -> Counter[str]:
    """Number of waiting moves by route."""
    found = Counter(cluster.queue.routes)
    if cluster.batch is not None:
        found[BATCH] += cluster.batch.waiting
    return found
