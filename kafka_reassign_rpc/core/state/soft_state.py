"""What a controller knows and no znode holds."""

import msgspec

from kafka_reassign_rpc.core.broker_settings import AT_FIRST, BrokerSettings
from kafka_reassign_rpc.core.state.former_partitions import FormerPartitions
from kafka_reassign_rpc.core.state.kraft_facts import NOTHING_TOLD, KRaftFacts
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.windows.grammar import Terms


class WindowNow(msgspec.Struct, frozen=True):
    """What `reassignment.windows` means at present.

    text    the setting from which it was judged
    told    what holds, in words for people
    until   when that changes, ms since 1970; None if not within a week
    """

    text: str
    told: str
    terms: Terms
    until: int | None


class SoftState(msgspec.Struct):
    """A new controller begins without it; `core.writers.reload` decides what outlives a reload.

    shutting_down     brokers in controlled shutdown: registered, but no longer live
    unheard           registered brokers that have not answered for all their replicas yet: log dirs may have failed
    gone              brokers with lost replicas that no move takes away from them, as last counted: some may be back.
                      The brake of self-healing depends on them
    sizes             bytes of the leader's replica, for partitions that move or wait; as old as the last sample
    broker_settings   see `core.broker_settings`
    former            partitions that others have removed from ZooKeeper or changed there
    cancelled         the id of the last `cancel_all` that the controller carried out, or -1
    window            what windows mean now, None if there are none, or nobody has judged them yet
    reported          what events have reported about the queue: brokers that moves wait for, and `Queue.DISABLED`
    migrating         brokers that say they were restarted for the migration to KRaft
    kraft             what `watch` has heard of brokers in KRaft mode

    Also soft, but kept with their values: `Partition.offline`, `Topic.id_since`, and what a batch waits for
    (`BatchZnode.waiting`, `.lacks_room`, `.stripped`).
    """

    shutting_down: set[int] = set()
    unheard: set[int] = set()
    gone: frozenset[int] = frozenset()
    sizes: dict[TopicPartition, int] = {}
    broker_settings: BrokerSettings = AT_FIRST
    former: FormerPartitions = msgspec.field(default_factory=FormerPartitions)
    cancelled: int = -1
    window: WindowNow | None = None
    reported: set[int] = set()
    migrating: frozenset[int] = frozenset()
    kraft: KRaftFacts = NOTHING_TOLD
