"""HoldMoves: hold moves of the queue, or release them.

The request means the moves that all its lists name: topics, brokers among the old or new replicas, and reasons. A held
move keeps its place and does not start before it is released; then it starts only from the replicas from which it led
when it was held. The answer comes once the hold is durable.
"""

from collections.abc import Sequence

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.core.queue.holding import LONGEST_REASON, Selection
from kafka_reassign_rpc.protocol.messages import HoldMovesRequest, HoldMovesResponse
from kafka_reassign_rpc.support.turns import Work, waited


def handle(node: Node, request: HoldMovesRequest, ctx: RequestContext) -> Work[HoldMovesResponse]:
    controller = required_controller(node)
    selection = _selection(request.topics, request.brokers, request.reasons)
    if request.all == (selection != Selection()):
        raise InvalidRequest("Name topics, brokers or reasons, or say that all moves of the queue are meant.")
    if len(request.reason) > LONGEST_REASON:
        raise InvalidRequest(f"The reason of a hold has at most {LONGEST_REASON} characters.")
    found = yield from waited(controller.hold_moves(selection, ctx, hold=request.hold, reason=request.reason))
    return HoldMovesResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        changed=found.changed,
        unchanged=found.unchanged,
        in_flight=found.in_flight,
    )


def _selection(topics: Sequence[str] | None, brokers: Sequence[int] | None, reasons: Sequence[str] | None) -> Selection:
    return Selection(
        None if topics is None else frozenset(topics),
        None if brokers is None else frozenset(brokers),
        None if reasons is None else frozenset(reasons),
    )


API = Api(
    key=32248,
    name="HoldMoves",
    min_version=0,
    max_version=0,
    group=ApiGroup.VENDOR,
    acl=(Acl(AclOperation.ALTER, AclResource.CLUSTER),),
    handle=handle,
    fail=error_alone(HoldMovesResponse),
    by_brokers=True,
)
