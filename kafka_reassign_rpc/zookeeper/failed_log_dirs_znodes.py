"""`/admin/failed_log_dirs/$id` (docs/znodes.md)."""

from typing import Annotated

import msgspec

from kafka_reassign_rpc.core.state.broker import FailedLogDirs
from kafka_reassign_rpc.zookeeper.znode_contents import LAST_MS
from kafka_reassign_rpc.zookeeper.znode_decoder import decode_json

MOST_LOG_DIRS = 100
LONGEST_PATH = 4096
"""Characters."""


class _Failure(msgspec.Struct):
    timestamp: Annotated[int, msgspec.Meta(ge=0, le=LAST_MS)]
    log_dirs: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=LONGEST_PATH)]], msgspec.Meta(max_length=MOST_LOG_DIRS)
    ] = []


_failure = msgspec.json.Decoder(_Failure, strict=False)


def encode_failed_log_dirs(failure: FailedLogDirs) -> bytes:
    paths = [path for path in failure.paths if len(path) <= LONGEST_PATH]
    return msgspec.json.encode({"version": 1, "timestamp": failure.since, "log_dirs": paths[:MOST_LOG_DIRS]})


def decode_failed_log_dirs(data: bytes, path: str) -> FailedLogDirs:
    """Raises BadZnode."""
    found = decode_json(_failure, data, path)
    return FailedLogDirs(found.timestamp, tuple(found.log_dirs))
