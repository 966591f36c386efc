"""Which throttle lease a client may ask for, whatever request or command asks for it."""

from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, RequestTimedOut
from kafka_reassign_rpc.core.settings.broker_settings import MIGRATION


async def check_lease(node: Node, rate: int | None, *, lifts: bool = False) -> None:
    """`rate`: bytes/s; 0: no lease; None: none is asked for. `lifts`: it lifts stricter rates. Raises InvalidRequest,
    and RequestTimedOut if it is not known in time whether brokers migrate to KRaft, which keeps leases.
    """
    if rate is not None and rate < 0:
        raise InvalidRequest(f"A throttle cannot be {rate} bytes/s: give a rate, or 0 for none")
    if lifts and not rate:
        raise InvalidRequest("LiftStricter is for a throttle above 0")
    if rate and await node.unknown_settings([MIGRATION]):
        raise RequestTimedOut(
            "No throttle lease is given: it is not known whether the brokers migrate to KRaft, which would leave it in"
            " place, since most of them have not reported it to this server. Try again, or move without a lease."
        )
