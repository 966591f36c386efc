"""`/admin/preferred_replica_election`, which Kafka 2.x's election tool creates.

The preferred replicas of its partitions become leaders if they are in sync; then the znode is deleted. A partition
without its preferred leader is reported, and so is a znode that cannot be decoded. Source:
KafkaController.processReplicaLeaderElection with the trigger ZkTriggered.
"""

from kafka_reassign_rpc.controller.commands.leadership_commands import ElectLeadersCommand
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.loading.znode_reads import decoded
from kafka_reassign_rpc.controller.store import ReloadNeeded
from kafka_reassign_rpc.controller.telemetry.event_recorder import Record
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import FencedZooKeeper
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import ElectionNotNeeded, UnknownServerError
from kafka_reassign_rpc.core.state import requesters
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.notification_znodes import decode_partitions
from kafka_reassign_rpc.zookeeper.operations import Delete, Stat
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoAuth, NoNode

PATH = znode_paths.PREFERRED_REPLICA_ELECTION
BY_ZNODE = requesters.znode(PATH)
WHO = f"znode {PATH}"
REPORTED = 100
"""How many partitions without an election are reported one by one; of the others only the number is."""


class PreferredReplicaElection:
    """Carries out the znode once for each time that it is written."""

    def __init__(self, zk: ZooKeeper, store: FencedZooKeeper, loop: ControllerLoop, record: Record) -> None:
        self._zk = zk
        self._store = store
        self._loop = loop
        self._record = record
        self._done = -1
        """The last change (mzxid) of a znode that is left alone."""

    async def carry_out(self) -> None:
        """A watch reports the znode's creation or its next change."""
        while True:
            stat = await self._zk.exists(PATH, watch=True)
            if stat is None or stat.mzxid == self._done:
                return
            try:
                data, stat = await self._zk.get(PATH)
            except NoNode:
                continue
            except NoAuth as error:
                self._leave_alone(stat, f"it is left alone: {error}")
                return
            self._record(await self._elect(data))
            try:
                await self._store.write([Delete(PATH, stat.version)])
            except ReloadNeeded as error:
                now = await self._zk.exists(PATH)
                if now is not None and now.mzxid == stat.mzxid:
                    self._leave_alone(stat, f"it is done, and cannot be deleted: {error}")

    def _leave_alone(self, stat: Stat, why: str) -> None:
        self._done = stat.mzxid
        self._record([Event(catalogue.ENTRY_REFUSED, who=WHO, reason=why)])

    async def _elect(self, data: bytes) -> list[Event]:
        try:
            names = await decoded(decode_partitions, data, PATH)
        except BadZnode as error:
            return [Event(catalogue.ENTRY_REFUSED, who=WHO, reason=f"deleted, nothing of it can be done: {error}")]
        try:
            results = await self._loop.insist(lambda: ElectLeadersCommand(list(names), unclean=False, by=BY_ZNODE))
        except UnknownServerError as error:  # a defect, which another try does not mend
            return [Event(catalogue.ENTRY_REFUSED, who=WHO, reason=f"deleted, it cannot be decided: {error}")]
        failed = [
            (topic, index, error)
            for topic, index, error in results
            if error is not None and not isinstance(error, ElectionNotNeeded)
        ]
        problems = [
            Event(catalogue.ENTRY_REFUSED, topic, index, who=WHO, reason=f"{error.name}: {error}")
            for topic, index, error in failed[:REPORTED]
        ]
        if len(failed) > REPORTED:
            reason = counted(len(failed) - REPORTED, "more partition")
            problems.append(Event(catalogue.ENTRY_REFUSED, who=WHO, reason=reason))
        return problems
