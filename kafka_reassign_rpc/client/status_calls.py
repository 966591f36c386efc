from typing import TypeVar

from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.client.vendor_calls import ask_document, ask_document_here
from kafka_reassign_rpc.core.status.broker_documents import Brokers
from kafka_reassign_rpc.core.status.documents import Moves, Status

T = TypeVar("T", Status, Moves, Brokers)

NO_STATUS = "The controller tells no status document: that needs a kafka-reassign-rpc server of this version."


async def document(router: RequestRouter, name: str, kind: type[T], **parameters: object) -> T:
    """docs/status-api.md explains the `parameters`."""
    return await ask_document(router, name, kind, NO_STATUS, {one: str(value) for one, value in parameters.items()})


async def status_here(router: RequestRouter) -> Status:
    """The server may be the controller or not."""
    return await ask_document_here(router, "status", Status, NO_STATUS)
