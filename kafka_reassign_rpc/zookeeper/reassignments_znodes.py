"""`/admin/reassignments/$topic/$partition`: the record of a move (docs/znodes.md), as long as it moves.

    {"version":1,"target":[1,2,4],"original_replicas":[1,2,3]}

Other fields only if they differ from their default. `throttle` is in bytes/s; `kept` has adding replicas of a former
target that stay until completion; `by` is {"principal":…,"address":…} of a client, {"who":…} of others. Adding and
removing replicas are in the topic znode, where stock Kafka looks for them.
"""

from typing import Annotated

import msgspec

from kafka_reassign_rpc.core.state.partition import RPC, MoveRecord, MoveTerms
from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE
from kafka_reassign_rpc.support.bounded_text import shown
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.znode_decoder import (
    MAX_INT64,
    BadZnode,
    Id,
    decode_json,
    decode_requester,
    encode_requester,
)

VERSION = 1


NOBODY = msgspec.Raw()


class _MoveRecord(msgspec.Struct, omit_defaults=True, gc=False):
    version: int
    target: tuple[Id, ...]
    original_replicas: tuple[Id, ...]
    route: str = RPC
    reason: str = ""
    throttle: Annotated[int, msgspec.Meta(ge=NO_RATE, le=MAX_INT64)] = NO_RATE
    kept: tuple[Id, ...] = ()
    legacy: bool = False
    by: msgspec.Raw = NOBODY
    lifts: bool = False


_json = msgspec.json.Encoder()
_record = msgspec.json.Decoder(_MoveRecord)


def decode_move_record(data: bytes, path: str, stat: Stat | None = None) -> MoveRecord:
    """The id (czxid) and the start (ctime) of the move come from `stat`. Raises BadZnode."""
    record = decode_json(_record, data, path)
    if record.version != VERSION:
        raise BadZnode(path, f"unknown version {shown(record.version)}")
    for replicas in (record.target, record.original_replicas):
        if len(set(replicas)) != len(replicas):
            raise BadZnode(path, f"not a replica set: {shown(replicas)}")
    id_, started = (None, None) if stat is None else (stat.czxid, stat.ctime)
    terms = MoveTerms(
        record.target,
        record.route,
        record.reason,
        record.throttle if record.throttle >= 0 else None,
        record.lifts,
        by=None if record.by is NOBODY else decode_requester(bytes(record.by)),
    )
    return MoveRecord(terms, record.original_replicas, id_, started, record.kept, record.legacy)


def encode_move_record(move: MoveRecord) -> bytes:
    terms = move.terms
    return _json.encode(
        _MoveRecord(
            VERSION,
            terms.target,
            move.original,
            terms.route,
            terms.reason,
            NO_RATE if terms.throttle is None else terms.throttle,
            move.retained,
            move.legacy,
            NOBODY if terms.by is None else encode_requester(terms.by),
            terms.lifts,
        )
    )
