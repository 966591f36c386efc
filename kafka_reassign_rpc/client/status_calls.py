from typing import TypeVar
from urllib.parse import urlencode

import msgspec

from kafka_reassign_rpc.client.client_errors import raise_for
from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import RequestRouter, always
from kafka_reassign_rpc.core.status.broker_documents import Brokers
from kafka_reassign_rpc.core.status.documents import Moves, Status
from kafka_reassign_rpc.protocol.messages import DescribeStatusRequest, DescribeStatusResponse

T = TypeVar("T", Status, Moves, Brokers)

NO_STATUS = "The controller tells no status document: that needs a kafka-reassign-rpc server of this version."


async def document(router: RequestRouter, name: str, kind: type[T], **parameters: object) -> T:
    """docs/status-api.md explains the `parameters`."""
    cls = DescribeStatusRequest
    await require(router, cls, NO_STATUS)
    request = cls(document=name, query=urlencode(parameters))
    return _document(await router.ask_controller(always(request), cls), kind)


async def status_here(router: RequestRouter) -> Status:
    """The server may be the controller or not."""
    cls = DescribeStatusRequest
    return _document(await router.ask_given(always(cls(document="status", query="")), cls, NO_STATUS), Status)


def _document(answer: DescribeStatusResponse, kind: type[T]) -> T:
    raise_for(answer.error_code, answer.error_message)
    return msgspec.json.decode(answer.content, type=kind)
