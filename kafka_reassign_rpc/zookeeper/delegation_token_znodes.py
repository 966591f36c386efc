"""Delegation tokens in ZooKeeper (KIP-48), which brokers create and renew.

/delegation_token/tokens/$token_id                   {"version":3,"expiryTimestamp":1,"maxTimestamp":2,…}
/delegation_token/token_changes/token_change_…       the id of a token that has changed

Source: DelegationTokenManagerZk.fromBytes.
"""

from typing import Annotated

import msgspec

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, Delete, Op
from kafka_reassign_rpc.zookeeper.znode_decoder import MAX_INT64, decode_json


class _Token(msgspec.Struct, rename="camel"):
    version: Annotated[int, msgspec.Meta(ge=1, le=3)]
    expiry_timestamp: Annotated[int, msgspec.Meta(ge=0, le=MAX_INT64)]
    max_timestamp: Annotated[int, msgspec.Meta(ge=0, le=MAX_INT64)]


_token = msgspec.json.Decoder(_Token)


def decode_token_end(data: bytes, path: str) -> int:
    """When a token ends, in ms since 1970: its expiry, or the end of its longest life. Raises BadZnode."""
    found = decode_json(_token, data, path)
    return min(found.expiry_timestamp, found.max_timestamp)


def removal(token_id: str, version: int) -> tuple[Op, ...]:
    """Deletes the token if its znode has this version; every broker then forgets it."""
    return (
        Delete(znode_paths.delegation_token(token_id), version),
        Create(znode_paths.DELEGATION_TOKEN_CHANGE_PREFIX, token_id.encode(), sequence=True),
    )
