"""What does a command of DoCommand. Each answers once its decision is durable."""

from collections.abc import Iterable, Mapping

import msgspec

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.large_requests import PIECE_BYTES, existing
from kafka_reassign_rpc.api.lease_checks import check_lease
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.core.document_and_command_bodies import (
    ApproveBody,
    HealBody,
    HoldBody,
    LeftOutPartition,
    Nothing,
    ReleaseBody,
    RepairedPartition,
    ThrottleBody,
)
from kafka_reassign_rpc.core.healing.self_healing_status import ApprovalOutcome, Repair
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.core.queue.holding import LONGEST_REASON, HoldOutcome, Selection
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.settings.server_settings import MovedSettings
from kafka_reassign_rpc.support.turns import rest

_encode = msgspec.json.Encoder().encode


async def hold(node: Node, body: HoldBody, ctx: RequestContext) -> HoldOutcome:
    """A held move keeps its place and does not start before it is released; then it starts only from the replicas from
    which it led when it was held.
    """
    controller = required_controller(node)
    selection = _selection(body)
    if len(body.reason) > LONGEST_REASON:
        raise InvalidRequest(f"The reason of a hold has at most {LONGEST_REASON} characters.")
    return await controller.hold_moves(selection, ctx, hold=True, reason=body.reason)


async def release(node: Node, body: ReleaseBody, ctx: RequestContext) -> HoldOutcome:
    controller = required_controller(node)
    return await controller.hold_moves(_selection(body), ctx, hold=False)


def _selection(body: ReleaseBody) -> Selection:
    selection = Selection(body.topics, body.brokers, body.reasons)
    if body.all == (selection != Selection()):
        raise InvalidRequest("Name topics, brokers or reasons, or say that all moves of the queue are meant.")
    return selection


async def throttle(node: Node, body: ThrottleBody, ctx: RequestContext) -> ThrottledMoves:
    """A move keeps its target, id, requester and place in the queue. A move without a lease gets one, and 0 ends each.
    A lease that lifts stricter rates goes on to do so until it ends. Moves of repairs are passed over: they follow
    `self.healing.throttle`.
    """
    required_controller(node)
    await check_lease(node, body.rate)
    wanted: dict[str, set[int] | None] | None = None
    if body.topics is not None:
        named = ((name, indexes) for name, indexes in body.topics.items() if indexes is not None)
        wanted = {**await existing(node, named)}
        wanted |= {name: None for name, indexes in body.topics.items() if indexes is None}
    controller = required_controller(node)  # since it may have waited
    return await controller.change_rates(wanted, body.rate, ctx)


async def heal(node: Node, body: HealBody, ctx: RequestContext) -> list[bytes]:
    """The repair does not wait for `failure.interval.ms`, but the brakes hold. Its moves join the queue. Returns pieces
    of a `RepairAnswer`: its lists may be as long as the cluster has partitions. INVALID_REQUEST if the broker is
    registered or holds no replica, POLICY_VIOLATION with the reason if repairs are held back.
    """
    controller = required_controller(node)
    found = await controller.heal(body.broker, ctx, dry_run=body.dry_run)
    return await _repair(found)


async def _repair(found: Repair) -> list[bytes]:
    moves = (RepairedPartition(*move.partition, move.replicas, move.target) for move in found.moves)
    left_out = (LeftOutPartition(*partition, reason) for partition, reason in found.left_out.items())
    return await _in_pieces(
        {"bytes": found.bytes, "copy_ms": found.copy_ms, "unsized": found.unsized},
        {"moves": moves, "left_out": left_out},
    )


async def _in_pieces(fields: Mapping[str, object], arrays: Mapping[str, Iterable[object]]) -> list[bytes]:
    """A JSON object with these fields and then these arrays."""
    pieces: list[bytes] = []
    piece = bytearray(_encode(fields)[:-1])
    for name, elements in arrays.items():
        piece += b"," + _encode(name) + b":["
        for at, element in enumerate(elements):
            piece += b"," + _encode(element) if at else _encode(element)
            if len(piece) >= PIECE_BYTES:
                pieces.append(bytes(piece))
                piece.clear()
            await rest()
        piece += b"]"
    return [*pieces, bytes(piece) + b"}"]


async def approve(node: Node, body: ApproveBody, ctx: RequestContext) -> ApprovalOutcome:
    """POLICY_VIOLATION with the reason if repairs are held back: then nothing is approved."""
    controller = required_controller(node)
    return await controller.approve_repairs(body.brokers, ctx)


async def move_settings(node: Node, _body: Nothing, ctx: RequestContext) -> MovedSettings:
    """In one transaction. A setting that is there already keeps its value, which holds anyway. Every server answers,
    with INVALID_CONFIG if either znode cannot be read, and with nothing if there is nothing to move.
    """
    if node.settings is None:
        raise InvalidRequest("This node is no kafka-reassign-rpc server.")
    return await node.settings.move(ctx.requester)
