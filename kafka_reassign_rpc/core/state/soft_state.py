"""What a controller knows and no store holds."""

import msgspec

from kafka_reassign_rpc.core.settings.broker_settings import AT_FIRST, BrokerSettings
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS, ReassignmentSettings
from kafka_reassign_rpc.core.settings.settings_in_force import NOTHING_SET, SettingsInForce, WindowNow
from kafka_reassign_rpc.core.state.former_partitions import FormerPartitions
from kafka_reassign_rpc.core.state.kraft_facts import NOTHING_TOLD, KRaftFacts
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import Place


class SoftState(msgspec.Struct):
    """A new controller begins without it; `core.writers.reload` decides what outlives a reload.

    shutting_down     brokers in controlled shutdown: registered, but no longer live
    unheard           registered brokers that have not answered for all their replicas yet: log dirs may have failed
    gone              brokers with lost replicas that no move takes away from them, as last counted: some may be back.
                      The brake of self-healing depends on them
    sizes             bytes of the leader's replica, for partitions that move or wait; as old as the last sample
    broker_settings   see `core.settings.broker_settings`
    started_with      the settings of this server itself
    in_force          which settings hold: `Cluster.derive_settings` renews it, whenever one of their sources is read
    former            partitions that others have taken out of the store or changed there
    cancelled         the id of the last `cancel_all` that the controller carried out, or None
    window            what windows meant when that was judged last, None if there were none
    reported          what events have reported about the queue: dead brokers that moves wait for, and `ENABLED`
    migrating         brokers that say they were restarted for the migration to KRaft
    kraft             what `watch` has heard of brokers in KRaft mode
    takes_nothing     why a cluster in KRaft mode takes no change of a move from this server; "": it does
    unseen            topics of a KRaft cluster that no broker shows for now: they are as they were known last, and
                      nothing is concluded of them

    Also soft, but kept with their values: `Partition.offline`, `Topic.id_since`, and what a batch waits for
    (`BatchZnode.waiting`, `.lacks_room`, `.stripped`).
    """

    shutting_down: set[int] = set()
    unheard: set[int] = set()
    gone: frozenset[int] = frozenset()
    sizes: dict[TopicPartition, int] = {}
    broker_settings: BrokerSettings = AT_FIRST
    started_with: ReassignmentSettings = DEFAULT_SETTINGS
    in_force: SettingsInForce = NOTHING_SET
    former: FormerPartitions = msgspec.field(default_factory=FormerPartitions)
    cancelled: int | None = None
    window: WindowNow | None = None
    reported: set[Place] = set()
    migrating: frozenset[int] = frozenset()
    kraft: KRaftFacts = NOTHING_TOLD
    takes_nothing: str = ""
    unseen: frozenset[str] = frozenset()
