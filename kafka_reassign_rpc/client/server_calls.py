"""What only servers of this product answer and do: documents of the status, the switch of reassignments, throttles and
holds of moves, repairs, and brokers that are cordoned. Each call says which server it needs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from kafka_reassign_rpc.client.client_errors import Unreachable, raise_for
from kafka_reassign_rpc.client.config_calls import BROKER
from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import RequestRouter, always
from kafka_reassign_rpc.client.settings_calls import settings, switch
from kafka_reassign_rpc.client.vendor_calls import ask_document, ask_document_here, do_command
from kafka_reassign_rpc.core.config_values import listed, parse_brokers
from kafka_reassign_rpc.core.document_and_command_bodies import (
    LONGEST_BODY,
    ApproveBody,
    HealBody,
    HoldBody,
    InFlightBody,
    ReleaseBody,
    RepairAnswer,
    SwitchState,
    ThrottleBody,
)
from kafka_reassign_rpc.core.healing.self_healing_status import ApprovalOutcome, HealingStatus, Repair, RepairMove
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.queue.holding import HoldOutcome
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.reassignment.figure_history import SPANS, PastFigures
from kafka_reassign_rpc.core.settings.healing_settings import PAUSED
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS, ENABLED
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition, by_topic
from kafka_reassign_rpc.core.status.broker_documents import Brokers
from kafka_reassign_rpc.core.status.controller_state import ControllerState
from kafka_reassign_rpc.core.status.documents import History, Move, Moves, MovesInFlight, Status
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsRequest, IncrementalAlterConfigsRequest

NAMED = 500
"""Partitions that a request names: where there are more, all moves are asked for."""
T = TypeVar("T", Status, Moves, Brokers)

NO_STATUS = "The controller has no status document: that needs a kafka-reassign-rpc server of this version."


async def document(router: RequestRouter, name: str, kind: type[T], **parameters: object) -> T:
    """docs/status-api.md explains the `parameters`."""
    return await ask_document(router, name, kind, NO_STATUS, {one: str(value) for one, value in parameters.items()})


async def moves_in_flight(router: RequestRouter, partitions: Iterable[tuple[str, int]] | None) -> Sequence[Move]:
    wanted = None if partitions is None else {*partitions}
    few = wanted is not None and len(wanted) <= NAMED
    body = InFlightBody(topics=by_topic(sorted(wanted)) if few and wanted is not None else None)
    found = (await ask_document(router, "in_flight", MovesInFlight, NO_STATUS, body)).moves
    return found if wanted is None else [one for one in found if (one.topic, one.partition) in wanted]


async def status_here(router: RequestRouter) -> Status:
    """The server may be the controller or not."""
    return await ask_document_here(router, "status", Status, NO_STATUS)


NO_HISTORY = "The controller keeps no figures of the past: that needs a kafka-reassign-rpc server of this version."


async def history(router: RequestRouter) -> list[PastFigures]:
    found = []
    for span, points in SPANS.items():
        past = await ask_document(router, "history", History, NO_HISTORY, {"span": span})
        found.append(PastFigures(past.at, past.step_ms, past.step_ms * points.points, past.points))
    return found


NO_STATE = (
    "The controller does not report its version, leases and shutdowns: that needs a kafka-reassign-rpc server of this"
    " version."
)


async def controller_state(router: RequestRouter) -> ControllerState:
    return await ask_document(router, "controller", ControllerState, NO_STATE)


NO_SWITCH = (
    "The controller has no switch for reassignments (KIP-236): that needs a kafka-reassign-rpc server of this"
    " version. This request was not sent."
)


async def why_disabled(router: RequestRouter) -> str | None:
    return (await ask_document(router, "switch", SwitchState, NO_SWITCH)).disabled


async def set_enabled(router: RequestRouter, enabled: bool) -> str | None:
    """Returns why reassignments are disabled now, or None."""
    await require(router, DescribeReassignmentsRequest, NO_SWITCH)
    await switch(router, ENABLED, None if enabled else "false")
    return await why_disabled(router)


NO_RATES = (
    "The controller does not change the throttles of moves: that needs a kafka-reassign-rpc server of this version. "
    "This request was not sent."
)

_Named = dict[str, list[int] | None]
_NUMBERS = 5_000
"""Partitions of one topic that a part names."""
_NUMBER_BYTES = 11
_NAME_BYTES = 16
"""What JSON has around a name."""


async def alter_throttles(
    router: RequestRouter,
    throttle: int,
    topics: Iterable[str] | None,
    partitions: Iterable[tuple[str, int]] | None,
) -> ThrottledMoves:
    """More names than a request has room for go in several, one after the other."""
    if topics is None and partitions is None:
        return await _alter(router, throttle, None)
    moving = waiting = repairs = 0
    for part in _parts([*topics] if topics is not None else [], by_topic(partitions or ())):
        found = await _alter(router, throttle, part)
        moving, waiting, repairs = moving + found.moving, waiting + found.waiting, repairs + found.repairs
    return ThrottledMoves(moving, waiting, repairs)


async def _alter(router: RequestRouter, throttle: int, named: _Named | None) -> ThrottledMoves:
    body = ThrottleBody(rate=throttle, topics=named)
    return await do_command(router, "throttle", ThrottledMoves, NO_RATES, body)


def _parts(whole: Iterable[str], some: dict[str, list[int]]) -> Iterator[_Named]:
    """At least one, so that a server says what it does not support. A topic that is named whole is named once."""
    named: list[tuple[str, list[int] | None]] = [(name, None) for name in dict.fromkeys(whole)]
    taken = {name for name, _ in named}
    for name, indexes in some.items():
        if name not in taken:
            named += [(name, indexes[at : at + _NUMBERS]) for at in range(0, len(indexes), _NUMBERS)]
    part: _Named = {}
    room = LONGEST_BODY - 100
    for name, wanted in named:
        size = _NAME_BYTES + 6 * len(name) + _NUMBER_BYTES * len(wanted or ())
        if part and (size > room or name in part):
            yield part
            part, room = {}, LONGEST_BODY - 100
        part[name] = wanted
        room -= size
    yield part


NO_HOLD = (
    "The controller cannot hold moves: that needs a kafka-reassign-rpc server of this version. This request was not"
    " sent."
)


async def hold_moves(
    router: RequestRouter,
    hold: bool,
    topics: Iterable[str] | None,
    brokers: Iterable[int] | None,
    requests: Iterable[str] | None,
    reason: str,
) -> HoldOutcome:
    """Raises KafkaError, UnsupportedHere."""
    selection: dict[str, Any] = {
        "all": topics is None and brokers is None and requests is None,
        "topics": None if topics is None else frozenset(topics),
        "brokers": None if brokers is None else frozenset(brokers),
        "reasons": None if requests is None else frozenset(requests),
    }
    if hold:
        return await do_command(router, "hold", HoldOutcome, NO_HOLD, HoldBody(reason=reason, **selection))
    return await do_command(router, "release", HoldOutcome, NO_HOLD, ReleaseBody(**selection))


NO_HEALING = (
    "The controller does not heal clusters (KIP-46): that needs a kafka-reassign-rpc server of this version. This"
    " request was not sent."
)
NO_APPROVAL = (
    "The controller knows no approval of repairs: that needs a kafka-reassign-rpc server of this version. This"
    " request was not sent."
)


async def healing_status(router: RequestRouter) -> HealingStatus:
    return await ask_document(router, "healing", HealingStatus, NO_HEALING)


async def heal_broker(router: RequestRouter, broker: int, dry_run: bool) -> Repair:
    body = HealBody(broker=broker, dry_run=dry_run)
    answer = await do_command(router, "heal", RepairAnswer, NO_HEALING, body, changes=not dry_run)
    return Repair(
        moves=tuple(
            RepairMove(TopicPartition(one.topic, one.partition), one.replicas, one.target) for one in answer.moves
        ),
        left_out={TopicPartition(one.topic, one.partition): one.reason for one in answer.left_out},
        bytes=answer.bytes,
        copy_ms=answer.copy_ms,
        unsized=answer.unsized,
    )


async def approve_repairs(router: RequestRouter, brokers: Iterable[int] | None) -> ApprovalOutcome:
    body = ApproveBody(brokers=None if brokers is None else frozenset(brokers))
    return await do_command(router, "approve", ApprovalOutcome, NO_APPROVAL, body)


async def set_paused(router: RequestRouter, paused: bool) -> None:
    await require(router, DescribeReassignmentsRequest, NO_HEALING)
    await switch(router, PAUSED, "true" if paused else None)


NO_CORDON = (
    "The controller cannot cordon brokers: that needs a kafka-reassign-rpc server of this version."
    " This request was not sent."
)
_APPEND, _SUBTRACT = 2, 3


async def cordoned(router: RequestRouter) -> frozenset[int]:
    found = {one.name: one.value for one in await settings(router)}
    return parse_brokers(found.get(CORDONED_BROKERS, "")) or frozenset()


async def can_cordon(router: RequestRouter) -> bool:
    if await router.controller_serves(DescribeReassignmentsRequest) < 0:
        return False
    return any(one.name == CORDONED_BROKERS for one in await settings(router))


async def cordon(router: RequestRouter, brokers: Iterable[int], uncordon: bool) -> frozenset[int]:
    """A change that somebody else makes to others in the meantime stays. Returns the cordoned brokers afterwards.
    Raises KafkaError, UnsupportedHere.
    """
    await require(router, DescribeReassignmentsRequest, NO_CORDON)
    node = await router.controller()
    one = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = one.AlterableConfig(
        name=CORDONED_BROKERS, config_operation=_SUBTRACT if uncordon else _APPEND, value=listed(brokers)
    )
    request = IncrementalAlterConfigsRequest(
        resources=[one(resource_type=BROKER, resource_name=str(node), configs=[config])], validate_only=False
    )
    answer = await router.ask_node(node, always(request), IncrementalAlterConfigsRequest, changes=True)
    [result] = answer.responses
    raise_for(result.error_code, result.error_message)
    try:
        return await cordoned(router)
    except KafkaError as error:
        done = "open" if uncordon else "cordoned"
        raise Unreachable(
            f"The brokers are {done}. All that are cordoned could not be read: {error.message}"
        ) from error
