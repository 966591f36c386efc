"""The field of an answer that says how long its client waits before the next request (KIP-219)."""

from functools import cache

from kafka_reassign_rpc.protocol.frame_codec import Body
from kafka_reassign_rpc.protocol.messages import RESPONSES, ApiMessage

FIELD = "throttle_time_ms"
SIZE = 4
_NO_WAIT = bytes(SIZE)


def throttle_ms(key: int, version: int, body: Body) -> int:
    """Of an answer to this API; 0 where it does not say."""
    if isinstance(body, ApiMessage):
        return int(getattr(body, FIELD, 0))
    first = (body[0] if isinstance(body, list) else body)[:SIZE]
    if first == _NO_WAIT or not begins_with_throttle(key, version):
        return 0
    return int.from_bytes(first, "big", signed=True)


@cache
def begins_with_throttle(key: int, version: int) -> bool:
    """In ApiVersions and a few others the field stands elsewhere, but these are messages. A large answer to Produce
    does not say how long its client waits."""
    fields = RESPONSES[key]._struct.fields
    return next((name for name, field in fields.items() if field.for_version_q(version)), "") == FIELD
