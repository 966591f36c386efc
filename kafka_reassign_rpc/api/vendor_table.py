"""The documents that AskDocument answers and the commands that DoCommand does: a row for each, with the right that it
needs. All else of the two APIs is here once: bounds, permission, decoding, encoding.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from kafka_reassign_rpc.api import vendor_commands, vendor_documents
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
from kafka_reassign_rpc.api.ports import Node, obeyed
from kafka_reassign_rpc.core.document_and_command_bodies import (
    LONGEST_BODY,
    ApproveBody,
    EventLog,
    EventLogBody,
    HealBody,
    HoldBody,
    InFlightBody,
    Nothing,
    Parameters,
    ReleaseBody,
    RepairAnswer,
    SwitchState,
    ThrottleBody,
)
from kafka_reassign_rpc.core.healing.self_healing_status import ApprovalOutcome, HealingStatus
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, UnsupportedVersion
from kafka_reassign_rpc.core.queue.holding import HoldOutcome
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.settings.server_settings import MovedSettings
from kafka_reassign_rpc.core.status.broker_documents import Brokers, Departure
from kafka_reassign_rpc.core.status.controller_state import ControllerState
from kafka_reassign_rpc.core.status.documents import History, Moves, MovesInFlight, Partitions, Status
from kafka_reassign_rpc.protocol.flexible_encoding import uvarint
from kafka_reassign_rpc.protocol.messages import AskDocumentRequest, DoCommandRequest
from kafka_reassign_rpc.support.bounded_text import shortened, shown

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
    answer = partial(vendor_documents.of_status_page, name)
    return Row(name, AclOperation.DESCRIBE, Parameters, answers, answer, meaning)


DESCRIBE, ALTER, ALTER_CONFIGS = AclOperation.DESCRIBE, AclOperation.ALTER, AclOperation.ALTER_CONFIGS

DOCUMENTS: Sequence[Row] = (
    _page("status", Status, "The cluster, its moves and self-healing at a glance. Any server answers"),
    _page("history", History, "Figures of the past, while this server was the controller. Any server answers"),
    _page("moves", Moves, "Moves in flight and moves that wait, by the page"),
    _page("brokers", Brokers, "The brokers"),
    _page("partitions", Partitions, "Partitions that are under-replicated or offline, by the page"),
    _page("departure", Departure, "Whether brokers may go"),
    Row("in_flight", DESCRIBE, InFlightBody, MovesInFlight, vendor_documents.in_flight, "Moves in flight of these"
        " partitions, or all, each as in `moves`, then those that wait until one of them has ended"),
    Row("controller", DESCRIBE, Nothing, ControllerState, vendor_documents.controller_state, "Version, epoch and time"
        " of election of the controller; the brokers with a throttle lease or in controlled shutdown, at most 5000"),
    Row("switch", DESCRIBE, Nothing, SwitchState, vendor_documents.switch, "Why reassignments are disabled (KIP-236),"
        " as of every earlier write"),
    Row("healing", DESCRIBE, Nothing, HealingStatus, vendor_documents.healing, "Failed brokers and the state of their"
        " repairs (KIP-46), as diagnosed now"),
    Row("event_log", DESCRIBE, EventLogBody, EventLog, vendor_documents.event_log, "Events that this server has"
        " recorded, 1 MiB at most, and the number to go on with. Any server answers, with its own"),
)  # fmt: skip

COMMANDS: Sequence[Row] = (
    Row("hold", ALTER, HoldBody, HoldOutcome, vendor_commands.hold, "Hold moves that wait in the queue",
        by_brokers=True),
    Row("release", ALTER, ReleaseBody, HoldOutcome, vendor_commands.release, "Release them", by_brokers=True),
    Row("throttle", ALTER_CONFIGS, ThrottleBody, ThrottledMoves, vendor_commands.throttle, "Give moves, in flight and"
        " waiting, another throttle lease", by_brokers=True),
    Row("heal", ALTER, HealBody, RepairAnswer, vendor_commands.heal, "Repair a failed broker now (KIP-46), or show what"
        " that would do", by_brokers=True),
    Row("approve", ALTER, ApproveBody, ApprovalOutcome, vendor_commands.approve, "Approve repairs that wait for it"
        " (`self.healing.approval`)", by_brokers=True),
    Row("move_settings", ALTER_CONFIGS, Nothing, MovedSettings, vendor_commands.move_settings, "Move the settings of"
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
