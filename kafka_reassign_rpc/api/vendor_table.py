"""The documents that AskDocument answers and the commands that DoCommand does: a function and a row for each, with the
right that it needs. All else of the two APIs is here once: bounds, permission, decoding, encoding. A command answers
once its decision is durable.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from kafka_reassign_rpc.api.a45_alter_partition_reassignments import check_lease
from kafka_reassign_rpc.api.answer_fields import NO_ERROR
from kafka_reassign_rpc.api.api_definition import (
    Acl,
    AclOperation,
    AclResource,
    Api,
    ApiGroup,
    Encoded,
    RequestContext,
    served,
)
from kafka_reassign_rpc.api.large_requests import PIECE_BYTES, existing, in_pieces
from kafka_reassign_rpc.api.ports import Node, obeyed, required_controller
from kafka_reassign_rpc.core.document_and_command_bodies import (
    LONGEST_BODY,
    ApproveBody,
    EventLog,
    EventLogBody,
    HealBody,
    HoldBody,
    InFlightBody,
    LeftOutPartition,
    Nothing,
    Parameters,
    ReleaseBody,
    RepairAnswer,
    RepairedPartition,
    ServerAddress,
    SwitchState,
    ThrottleBody,
)
from kafka_reassign_rpc.core.healing.self_healing_status import ApprovalOutcome, HealingStatus, Repair
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, NotController, PolicyViolation, UnsupportedVersion
from kafka_reassign_rpc.core.queue.holding import LONGEST_REASON, HoldOutcome, Selection
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.settings.server_settings import MovedSettings
from kafka_reassign_rpc.core.status.broker_documents import Brokers, ControllerState, Departure
from kafka_reassign_rpc.core.status.documents import History, Moves, MovesInFlight, Partitions, Status
from kafka_reassign_rpc.protocol.frame_codec import uvarint
from kafka_reassign_rpc.protocol.messages import AskDocumentRequest, DoCommandRequest
from kafka_reassign_rpc.support.bounded_text import shortened, shown
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


_LONGEST_REASON = 400


class Row(NamedTuple):
    """name        as requests have it
    needs       what the caller has to be allowed on the cluster
    body        the type that the request's JSON is decoded into
    answers     the type of the answer's JSON
    answer      (node, body, context) -> a value of it, or its JSON in pieces
    meaning     for docs/apis.md
    by_brokers  as in `Api`: until brokers obey, it decides nothing and is answered NOT_CONTROLLER
    """

    name: str
    needs: AclOperation
    body: Any
    answers: Any
    answer: Callable[[Node, Any, RequestContext], Awaitable[Any]]
    meaning: str
    by_brokers: bool = False


def _page(name: str, answers: Any, meaning: str) -> Row:
    answer = partial(of_status_page, name)
    return Row(name, AclOperation.DESCRIBE, Parameters, answers, answer, meaning)


DESCRIBE, ALTER, ALTER_CONFIGS = AclOperation.DESCRIBE, AclOperation.ALTER, AclOperation.ALTER_CONFIGS

DOCUMENTS: Sequence[Row] = (
    _page("status", Status, "The cluster, its moves and self-healing at a glance. Any server answers"),
    _page("history", History, "Figures of the past, while this server was the controller. Any server answers"),
    _page("moves", Moves, "Moves in flight and moves that wait, by the page"),
    _page("brokers", Brokers, "The brokers"),
    _page("partitions", Partitions, "Partitions that are under-replicated or offline, by the page"),
    _page("departure", Departure, "Whether brokers may go"),
    Row("in_flight", DESCRIBE, InFlightBody, MovesInFlight, in_flight, "Moves in flight of these"
        " partitions, or all, each as in `moves`, then those that wait until one of them has ended"),
    Row("controller", DESCRIBE, Nothing, ControllerState, controller_state, "Version, epoch and time"
        " of election of the controller; the brokers with a throttle lease or in controlled shutdown, at most 5000"),
    Row("switch", DESCRIBE, Nothing, SwitchState, switch, "Why reassignments are disabled (KIP-236),"
        " as of every earlier write"),
    Row("healing", DESCRIBE, Nothing, HealingStatus, healing, "Failed brokers and the state of their"
        " repairs (KIP-46), as diagnosed now"),
    Row("event_log", DESCRIBE, EventLogBody, EventLog, event_log, "Events that this server has"
        " recorded, 1 MiB at most, and the number to go on with. Any server answers, with its own"),
)  # fmt: skip

COMMANDS: Sequence[Row] = (
    Row("hold", ALTER, HoldBody, HoldOutcome, hold, "Hold moves that wait in the queue",
        by_brokers=True),
    Row("release", ALTER, ReleaseBody, HoldOutcome, release, "Release them", by_brokers=True),
    Row("throttle", ALTER_CONFIGS, ThrottleBody, ThrottledMoves, throttle, "Give moves, in flight and"
        " waiting, another throttle lease", by_brokers=True),
    Row("heal", ALTER, HealBody, RepairAnswer, heal, "Repair a failed broker now (KIP-46), or show what"
        " that would do", by_brokers=True),
    Row("approve", ALTER, ApproveBody, ApprovalOutcome, approve, "Approve repairs that wait for it"
        " (`self.healing.approval`)", by_brokers=True),
    Row("move_settings", ALTER_CONFIGS, Nothing, MovedSettings, move_settings, "Move the settings of"
        " servers out of the brokers' default configs. Any server does it"),
)  # fmt: skip


class VendorTable:
    """`what`: document or command. So is the field of a request called that names one."""

    def __init__(self, api: str, what: str, rows: Sequence[Row]) -> None:
        self._api, self._what = api, what
        self._rows: Mapping[str, Row] = {row.name: row for row in rows}
        self._decoders = {row.name: msgspec.json.Decoder(row.body) for row in rows}

    @property
    def acl(self) -> tuple[Acl, ...]:
        """By operation, with the names that need it. `answered` asks for them."""
        names: dict[AclOperation, list[str]] = {}
        for row in self._rows.values():
            names.setdefault(row.needs, []).append(row.name)
        return tuple(Acl(needs, AclResource.CLUSTER, ", ".join(those)) for needs, those in names.items())

    async def handle(self, node: Node, request: AskDocumentRequest | DoCommandRequest, ctx: RequestContext) -> Encoded:
        return await self.answered(node, getattr(request, self._what), request.body, ctx)

    async def answered(self, node: Node, name: str, body: bytes, ctx: RequestContext) -> Encoded:
        """Raises UnsupportedVersion for a name that this version does not know."""
        row = self._rows.get(name)
        if row is None:
            raise UnsupportedVersion(f"There is no {self._what} {shown(name)}: there are {', '.join(self._rows)}.")
        ctx.access.check_cluster(row.needs, f"{self._api} {name}")
        wanted = self._decoded(row, body)
        if row.by_brokers:
            await obeyed(node)
        found = await row.answer(node, wanted, ctx)
        pieces: list[bytes] = found if isinstance(found, list) else [msgspec.json.encode(found)]
        return Encoded([NO_ERROR + uvarint(sum(len(piece) for piece in pieces) + 1), *pieces, b"\x00"])

    def _decoded(self, row: Row, body: bytes) -> Any:
        if len(body) > LONGEST_BODY:
            raise InvalidRequest(f"The body of {row.name} has {len(body)} bytes, more than {LONGEST_BODY}.")
        try:
            return self._decoders[row.name].decode(body or b"{}")
        except Exception as error:  # the parser raises many kinds: for digits, depth, halves of characters, types
            raise InvalidRequest(shortened(f"The body of {row.name}: {error}", _LONGEST_REASON)) from error


ASK = VendorTable("AskDocument", "document", DOCUMENTS)
DO = VendorTable("DoCommand", "command", COMMANDS)

APIS: tuple[Api, ...] = (
    served(AskDocumentRequest, *ASK.acl, handle=ASK.handle, group=ApiGroup.VENDOR),
    served(DoCommandRequest, *DO.acl, handle=DO.handle, group=ApiGroup.VENDOR),
)
