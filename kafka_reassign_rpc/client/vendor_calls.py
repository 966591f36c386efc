"""Documents and commands of servers of this product: JSON in AskDocument and DoCommand. A server that knows neither the
API nor the name does not support the call.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from kafka_reassign_rpc.client.client_errors import Unreachable, UnsupportedHere, raise_for
from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import RequestRouter, always
from kafka_reassign_rpc.core.document_and_command_bodies import Body
from kafka_reassign_rpc.protocol.messages import (
    AskDocumentRequest,
    AskDocumentResponse,
    DoCommandRequest,
    DoCommandResponse,
)

T = TypeVar("T")

_LARGE_BYTES = 64 * 1024
"""A thread decodes larger answers."""


class Connected:
    """A client, once it has started."""

    _router: RequestRouter | None = None

    @property
    def _connected(self) -> RequestRouter:
        """Raises RuntimeError before that."""
        if self._router is None:
            raise RuntimeError("the client is not started")
        return self._router


async def ask_document(
    router: RequestRouter,
    name: str,
    kind: type[T],
    otherwise: str,
    given: Body | Mapping[str, object] | None = None,
    *,
    server: int | None = None,
) -> T:
    """Of the controller, or of this server. Raises KafkaError; UnsupportedHere with the text `otherwise`."""
    request = always(AskDocumentRequest(document=name, body=b"" if given is None else msgspec.json.encode(given)))
    if server is not None:
        answer = await router.ask_node(server, request, AskDocumentRequest)
    else:
        await require(router, AskDocumentRequest, otherwise)
        answer = await router.ask_controller(request, AskDocumentRequest)
    return await _answered(answer, kind, otherwise)


async def ask_document_here(router: RequestRouter, name: str, kind: type[T], otherwise: str) -> T:
    """The document of the first server at the given addresses, the controller or not."""
    request = always(AskDocumentRequest(document=name, body=b""))
    return await _answered(await router.ask_given(request, AskDocumentRequest, otherwise), kind, otherwise)


async def do_command(
    router: RequestRouter, name: str, kind: type[T], otherwise: str, body: Body, *, changes: bool = True
) -> T:
    """By the controller. Raises as `ask_document`."""
    await require(router, DoCommandRequest, otherwise)
    request = always(DoCommandRequest(command=name, body=msgspec.json.encode(body)))
    return await _answered(await router.ask_controller(request, DoCommandRequest, changes=changes), kind, otherwise)


async def _answered(answer: AskDocumentResponse | DoCommandResponse, kind: type[T], otherwise: str) -> T:
    if answer.error_code == UnsupportedHere.code:
        raise UnsupportedHere(otherwise)
    raise_for(answer.error_code, answer.error_message)

    def decode() -> Any:
        return msgspec.json.decode(answer.body, type=kind)

    try:
        found: T = await asyncio.to_thread(decode) if len(answer.body) > _LARGE_BYTES else decode()
    except msgspec.MsgspecError as error:
        raise Unreachable(f"{answer.name}: the answer cannot be read: {error}") from error
    return found
