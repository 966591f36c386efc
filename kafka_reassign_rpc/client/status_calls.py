"""The call for the status document, and other documents of the status page."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from kafka_reassign_rpc.client.reassignment_calls import by_topic
from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.client.vendor_calls import ask_document, ask_document_here
from kafka_reassign_rpc.core.status.broker_documents import Brokers
from kafka_reassign_rpc.core.status.documents import Move, Moves, MovesInFlight, Status
from kafka_reassign_rpc.core.vendor_bodies import InFlightBody

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
