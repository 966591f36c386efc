"""The watches of a term that is only a `BareController`."""

from collections.abc import Collection, Sequence

from kafka_reassign_rpc.controller.watches.broker_notifications import BrokerNotifications
from kafka_reassign_rpc.controller.watches.zookeeper_watches import ZooKeeperWatches
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.controller.bare_controller import SERVER, BareController


class Office:
    """A handler that does nothing: these tests look at reads only."""

    own_id = SERVER

    def controller_moved(self) -> None: ...
    def broker_has_id(self) -> None: ...
    def brokers_changed(self) -> None: ...
    def configs_changed(self) -> None: ...
    def topics_appeared(self, names: Sequence[str]) -> None: ...
    def deletions_begun(self, names: Sequence[str]) -> None: ...
    def stale_marks_found(self) -> None: ...
    def log_dirs_failed(self, brokers: Collection[int]) -> None: ...
    def states_changed(self, names: Sequence[TopicPartition]) -> None: ...
    def states_repaired(self, names: Sequence[TopicPartition]) -> None: ...


def watches_of(controller: BareController) -> ZooKeeperWatches:
    office = Office()
    notifications = BrokerNotifications(
        controller.zk, controller.store, controller.loop, office, controller.events.extend
    )
    return ZooKeeperWatches(
        controller.zk, office, controller.loop, controller.zk.last_zxid, controller.requests, notifications
    )
