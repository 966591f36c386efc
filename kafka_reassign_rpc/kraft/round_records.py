"""What is durable of a round: one JSON document, with its version. Fields are left out where they say nothing.

A later version may add fields; it must read these. What it cannot do without, an earlier one must not read: then it
raises the version.
"""

from collections.abc import Sequence

import msgspec

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.phases.phases import Outcome
from kafka_reassign_rpc.core.state.failed_log_dirs import FailedLogDirs
from kafka_reassign_rpc.core.state.partition import MoveRecord
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory
from kafka_reassign_rpc.support.bounded_text import shown

VERSION = 1
MOST_MOVES = 10_000
"""Moves in one document of a snapshot: it is read in one turn of the event loop."""


class BadRound(Exception):
    """A document that this version does not understand."""


class Move(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`record`: None once the move is over. A new one has no id: the record's offset is its id."""

    topic: str
    partition: int
    record: MoveRecord | None = None


class Ended(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How the move of a partition has ended that was recorded before, with what `outcome_event` needs else."""

    topic: str
    partition: int
    outcome: Outcome
    replicas: tuple[int, ...] | None = None
    reason: str = ""


class Waiting(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """In the part of the queue that the record at offset `part` has made; `move`: None once it has left."""

    part: int
    topic: str
    partition: int
    move: WaitingMove | None = None


class Memory(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What is remembered of configs that a lease has changed: of a topic, or of a broker.

    after  while they change: what is remembered afterwards
    """

    kind: str
    name: str
    topic: TopicMemory | None = None
    broker: BrokerMemory | None = None
    topic_after: TopicMemory | None = None
    broker_after: BrokerMemory | None = None


class RoundRecord(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """at        ms since the epoch, by the server's clock
    version   None until it is written
    ids       ids of topics that `moves` names
    waiting   `part` -1 joins the queue, in a part of its own; others change or leave
    failed    see `Cluster`; None: over
    server    who leads, by its name in its claim: in a snapshot, which has deleted that
    ended     moves that `moves` ends, or gives another record: each makes one outcome more
    recorded  so many outcomes, of all that there ever were, are in event logs; 0: nothing new
    outcomes  those that are not: in a snapshot, which has deleted their records
    """

    at: int
    version: int | None = None
    ids: dict[str, str] = {}
    moves: Sequence[Move] = ()
    waiting: Sequence[Waiting] = ()
    failed: dict[int, int | None] = {}
    log_dirs: dict[int, FailedLogDirs | None] = {}
    memories: Sequence[Memory] = ()
    server: str = ""
    ended: Sequence[Ended] = ()
    recorded: int = 0
    outcomes: Sequence[Event] = ()


class _Version(msgspec.Struct):
    version: int


_json = msgspec.json.Encoder()
_version = msgspec.json.Decoder(_Version)
_record = msgspec.json.Decoder(RoundRecord)


def encode(record: RoundRecord) -> bytes:
    return _json.encode(msgspec.structs.replace(record, version=VERSION))


def decode(data: bytes) -> RoundRecord:
    """Raises BadRound."""
    try:
        version = _version.decode(data).version
        if version != VERSION:
            raise BadRound(f"version {version} of a round is not known to this release, which knows {VERSION}")
        record = _record.decode(data)
    except msgspec.MsgspecError as error:
        raise BadRound(f"a round cannot be read: {error}: {shown(data)}") from None
    named = [*(one.partition for one in record.moves), *(one.partition for one in record.waiting)]
    if any(not 0 <= partition <= INT32 for partition in named):
        raise BadRound("a round names a partition that cannot be")
    return record
