"""What the API answers about brokers: what they hold and copy, and whether they may go; and what the controller says of
itself.

`null` is what the server does not know, as in `documents`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec

from kafka_reassign_rpc.core.config_values import MOST_BROKERS
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE
from kafka_reassign_rpc.core.status.documents import about


class Throttle(msgspec.Struct, frozen=True):
    """The throttle in force on one side of a broker."""

    rate: int
    by: Annotated[
        Literal["lease", "config", "default"] | None,
        about(
            "`lease`: the controller has set it for moves, and removes it after them; `config`: set by others for the"
            " broker; `default`: set by others for all brokers (those before Kafka 3.9 do not heed it); null: not"
            " known, since only the controller knows its leases"
        ),
    ]


class FailedLogDir(msgspec.Struct, frozen=True):
    """A log dir that a broker cannot use."""

    path: str
    error: Annotated[str, about("Kafka's name of the error")]


class Disk(msgspec.Struct, frozen=True):
    """The log dirs of a broker, all their replicas included, moving or not."""

    at: Annotated[int, about("when the broker reported this")]
    replicas: Annotated[int | None, about("what its replicas take")]
    capacity: Annotated[int | None, about("of the volumes of its log dirs that work; null: brokers before Kafka 3.3")]
    free: Annotated[int | None, about("of the same volumes")]
    failed: Annotated[Sequence[FailedLogDir], about("log dirs that it cannot use")]


class MayGo(msgspec.Struct, frozen=True):
    """Whether a broker, or all brokers of a rack, may be stopped now."""

    may_go: Annotated[bool | None, about("null: not known")]
    why_not: Annotated[Sequence[str], about("what speaks against it")]
    meanwhile: Annotated[Sequence[str], about("what to know although they may go")]


class BrokerStatus(msgspec.Struct, frozen=True):
    """One broker."""

    id: int
    alive: Annotated[bool, about("whether it is registered")]
    shutting_down: Annotated[bool | None, about("whether it is in controlled shutdown; null: `watch` does not know")]
    rack: str | None
    rate_in: Annotated[int | None, about("how fast moves copy to it")]
    rate_out: Annotated[
        int | None, about("how fast moves copy from it, as the leader; null also where `watch` may not see who leads")
    ]
    throttle_in: Annotated[Throttle | None, about("as a follower; null: none is set, or not known (`throttles_known`)")]
    throttle_out: Annotated[Throttle | None, about("as a leader; null as `throttle_in`")]
    replicas: Annotated[int | None, about("null, as the next three: `watch` may not see all topics")]
    leaders: Annotated[int | None, about("partitions that it leads")]
    under_replicated: Annotated[int | None, about("those of them that are under-replicated, as its own metric says")]
    out_of_sync: Annotated[int | None, about("its replicas that are not in the ISR, without those that a move adds")]
    disk: Annotated[Disk | None, about("null: it has not answered yet. Brokers are asked while the page is open")]
    cordoned: Annotated[
        bool | None,
        about(
            "whether it gets no new replica (KIP-1066); null: not known, as `watch` learns it from brokers with moves"
            " from"
            " Kafka 4.3 on"
        ),
    ] = None
    throttles_known: Annotated[bool, about("whether its throttles are known; `watch` may not see them")] = True
    throttles_at: Annotated[
        int | None,
        about("when `watch` last read its throttles; null: it never has, or the server that answers sets them"),
    ] = None
    departure: Annotated[
        MayGo | None, about("whether it may be stopped now; null: it is gone, or `watch` cannot tell")
    ] = None


class RackStatus(msgspec.Struct, frozen=True):
    """A rack with its registered brokers."""

    rack: str
    brokers: Annotated[Sequence[int], about("100 of them at most, by id")]
    departure: Annotated[MayGo, about("whether all brokers of the rack may go at once")]


class Brokers(msgspec.Struct, frozen=True):
    """`/api/v1/brokers`"""

    at: Annotated[int, about("when this was made")]
    counted_at: Annotated[int, about("when replicas and leaders were counted: less often in a large cluster")]
    brokers: Annotated[Sequence[BrokerStatus], about("those that are registered or hold replicas, by id")]
    racks: Annotated[Sequence[RackStatus], about("by name; none on `watch`")] = ()


class LostPartitions(msgspec.Struct, frozen=True):
    """Partitions to which one thing happens."""

    count: int
    partitions: Annotated[Sequence[str], about("the first 100 by name; a topic alone: nothing of it can be read")]
    left_out: Annotated[int, about("how many more there are")]


class RoomLeft(msgspec.Struct, frozen=True):
    """Whether the other brokers can hold what these hold, in sum."""

    enough: Annotated[bool | None, about("null: not known")]
    needed_bytes: int | None
    free_bytes: Annotated[int | None, about("on brokers that may get replicas")]
    not_told: Annotated[Sequence[int], about("the first brokers that have not reported their bytes")]


class Losses(msgspec.Struct, frozen=True):
    """What is lost with brokers. Each list answers its own question: a partition may be on several."""

    replicas: Annotated[int, about("how many replicas are on the brokers")]
    last_in_sync: Annotated[LostPartitions, about("no in-sync replica is left: they go offline")]
    below_min_isr: Annotated[
        LostPartitions, about("an in-sync replica goes, and those that stay are fewer than `min.insync.replicas`")
    ]
    under_replicated: Annotated[LostPartitions, about("all replicas are in sync now, and then no longer")]
    lost_rack: Annotated[LostPartitions, about("in-sync replicas are in fewer racks then")]
    no_place: Annotated[LostPartitions, about("they have more replicas than brokers are left that may get one")]
    unknown: Annotated[LostPartitions, about("their state cannot be read")]
    room: RoomLeft


class Departure(msgspec.Struct, frozen=True):
    """`/api/v1/departure`"""

    at: Annotated[int, about("when this was made")]
    counted_at: Annotated[int, about("when the partitions were looked at: less often in a large cluster")]
    brokers: Annotated[Sequence[int], about("those that would go, 100 of them at most")]
    strangers: Annotated[Sequence[int], about("those of them that are not registered and hold nothing: mistakes?")]
    may_go: Annotated[bool | None, about("null: not known")]
    why_not: Annotated[Sequence[str], about("what speaks against it")]
    meanwhile: Annotated[Sequence[str], about("what to know although they may go")]
    departure: Losses


class BrokerState(msgspec.Struct, frozen=True):
    """`leased_rate`: bytes/s of throttle leases, None without one."""

    leased_rate: int | None = None
    is_shutting_down: bool = False


class ControllerState(msgspec.Struct, frozen=True):
    """What the controller answers about itself and about brokers, besides moves.

    version   that of the controller's software
    since     when it was elected, ms since 1970
    brokers   those with a throttle lease or in controlled shutdown
    """

    version: str
    epoch: int
    since: int
    brokers: Mapping[int, BrokerState]


def broker_states(cluster: Cluster) -> dict[int, BrokerState]:
    leases, shutting_down = cluster.leases, cluster.soft.shutting_down
    return {
        broker: BrokerState(None if (rate := leases.rate(broker)) == NO_RATE else rate, broker in shutting_down)
        for broker in sorted({*leases.brokers, *shutting_down})[:MOST_BROKERS]
    }
