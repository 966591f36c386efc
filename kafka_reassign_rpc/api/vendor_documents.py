"""What answers a document of AskDocument."""

import json

import msgspec

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.large_requests import in_pieces
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.core.document_and_command_bodies import (
    EventLog,
    EventLogBody,
    InFlightBody,
    Nothing,
    Parameters,
    ServerAddress,
    SwitchState,
)
from kafka_reassign_rpc.core.healing.self_healing_status import HealingStatus
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, NotController, PolicyViolation
from kafka_reassign_rpc.core.status.controller_state import ControllerState
from kafka_reassign_rpc.support.turns import rest

MOST_EVENT_BYTES = 1_048_576
"""Of the events in one answer."""

FOUND, ELSEWHERE = 200, 503


async def of_status_page(name: str, node: Node, parameters: Parameters, _ctx: RequestContext) -> msgspec.Raw:
    """The same as the page's, in full: the caller may describe the cluster. Raises InvalidRequest for a parameter that
    makes no sense.
    """
    assert node.status is not None  # simulated brokers do not serve vendor APIs
    given = {parameter: str(value) for parameter, value in parameters.items()}
    status, document = await node.status.document(name, given)
    if status == ELSEWHERE:
        raise NotController(json.loads(document)["error"])
    if status != FOUND:
        raise InvalidRequest(json.loads(document)["error"])
    return msgspec.Raw(document)


async def event_log(node: Node, body: EventLogBody, ctx: RequestContext) -> EventLog:
    """Every server answers with its own events. If the log no longer has the event that was asked for, the answer
    begins with the oldest.
    """
    found = await node.events(body.from_seq, min(body.max_bytes, MOST_EVENT_BYTES))
    if found is None:
        raise PolicyViolation("This server keeps no event log: start it with event.log.dir set to a directory.")
    servers = await node.servers(ctx.listener) if body.from_seq < 0 else ()
    return EventLog(
        node.node_id,
        found.oldest_seq,
        found.next_seq,
        found.complete_seq,
        [msgspec.Raw(one.encode()) for one in found.events if _is_json(one)],
        [ServerAddress(one.id, one.host, one.port) for one in servers],
    )


def _is_json(text: str) -> bool:
    """A damaged line of a log would spoil the whole answer."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


async def in_flight(node: Node, body: InFlightBody, _ctx: RequestContext) -> list[bytes]:
    parts = [b'{"moves":[']
    for move in required_controller(node).moves_in_flight(body.topics):
        await rest()
        if move is not None:
            parts += (b"," if len(parts) > 1 else b"", msgspec.json.encode(move))
    return list(in_pieces([*parts, b"]}"]))


async def healing(node: Node, _body: Nothing, _ctx: RequestContext) -> HealingStatus:
    controller = required_controller(node)
    return await controller.healing()


async def switch(node: Node, _body: Nothing, _ctx: RequestContext) -> SwitchState:
    controller = required_controller(node)
    disabled = await controller.reassignments_disabled()
    return SwitchState(None if disabled is None else disabled.message)


async def controller_state(node: Node, _body: Nothing, _ctx: RequestContext) -> ControllerState:
    return required_controller(node).state()
