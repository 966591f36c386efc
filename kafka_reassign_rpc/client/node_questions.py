"""What every node is asked: who is there, who controls, which versions it serves; why there was no answer; and what a
user reads of a call that goes on trying.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka_reassign_rpc.client.client_errors import (
    NoActiveController,
    Unauthenticated,
    Unreachable,
    UnsupportedHere,
    raise_for,
)
from kafka_reassign_rpc.client.node_connections import NodeConnection, NodeConnections
from kafka_reassign_rpc.core.state.broker import LostQuorum
from kafka_reassign_rpc.protocol.frame_codec import decode_body, encode_body
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import (
    RESPONSES,
    ApiMessage,
    DescribeClusterRequest,
    DescribeQuorumRequest,
    DescribeReassignmentsRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
    RequestFor,
)
from kafka_reassign_rpc.protocol.versions import common_version
from kafka_reassign_rpc.support.counted import first_of
from kafka_reassign_rpc.support.host_port import Address

NOT_CONTROLLER = 41
NO_CONTROLLER = "No node says that it is the controller."
_METADATA_MAX = 12
_CONTROLLER_MS = 1000
"""How long a node may take to say whether it is the controller: it knows that itself."""
CONTROLLERS = 2
"""The endpoint type of KRaft controllers in DescribeCluster."""
_LARGE_BYTES = 64 * 1024
"""A thread decodes larger answers, so that the event loop goes on."""

Response = TypeVar("Response", bound="ApiMessage")


async def brokers_and_controller(connection: NodeConnection) -> tuple[dict[int, Address], int]:
    request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
    answer = await _ask(connection, request, MetadataRequest, _METADATA_MAX)
    return {one.node_id: Address(one.host, one.port) for one in answer.brokers}, answer.controller_id


async def controllers(connection: NodeConnection) -> tuple[dict[int, Address], int]:
    """KRaft controllers do not serve Metadata, but list each other in DescribeCluster (KIP-919)."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=CONTROLLERS)
    answer = await _ask(connection, request, DescribeClusterRequest, 1)
    raise_for(answer.error_code, answer.error_message)
    return {one.broker_id: Address(one.host, one.port) for one in answer.brokers}, answer.controller_id


async def require_controller(connection: NodeConnection, served: Mapping[int, tuple[int, int]]) -> None:
    """Raises Unreachable where the node says that it is not the controller, whatever others say. Of one that
    does not say (it is too old, or this principal may not ask) the others are believed; one in KRaft mode passes
    requests on.
    """
    if ListPartitionReassignmentsRequest.API_KEY in served and DescribeQuorumRequest.API_KEY not in served:
        of_none = ListPartitionReassignmentsRequest(timeout_ms=_CONTROLLER_MS, topics=[])
        answer = await _ask(connection, of_none, ListPartitionReassignmentsRequest, 0)
        if answer.error_code == NOT_CONTROLLER:
            raise Unreachable(NO_CONTROLLER)


async def is_kraft(connection: NodeConnection) -> bool:
    return DescribeQuorumRequest.API_KEY in await connection.versions()


async def is_front(connection: NodeConnection) -> bool:
    """Whether it is a server of this product in front of a KRaft cluster, whose brokers do not name it."""
    served = await connection.versions()
    return DescribeQuorumRequest.API_KEY in served and DescribeReassignmentsRequest.API_KEY in served


async def _ask(
    connection: NodeConnection, request: ApiMessage, cls: type[RequestFor[Response]], highest: int
) -> Response:
    version = version_at(cls, await connection.versions(), highest)
    answer: Response = await decoded_answer(
        cls, await connection.call(cls, encode_body(request, version=version), version), version
    )
    return answer


async def decoded_answer(cls: type[ApiMessage], data: bytes, version: int) -> Any:
    """Raises Unreachable for a garbled answer."""

    def decode() -> ApiMessage:
        return decode_body(RESPONSES[cls.API_KEY], data, version=version)

    try:
        return await asyncio.to_thread(decode) if len(data) > _LARGE_BYTES else decode()
    except RemoteProtocolError as error:
        raise Unreachable(f"{cls.name}: the answer cannot be read: {error}") from error


def version_at(cls: type[ApiMessage], served: Mapping[int, tuple[int, int]], highest: int | None = None) -> int:
    version = common_version(cls, served, highest)
    if version < 0:
        raise UnsupportedHere(f"The node does not support {cls.name.removesuffix('Request')}.")
    return version


ANSWER_S = 3.0
"""A node that lives says in this time what it serves, and a broker what an active controller has sent it."""
NAMED = 5
METADATA_LOG = "__cluster_metadata"

Found = Unreachable | bool
"""Why a node does not answer; else whether it answers alone: it would pass questions on, and no node takes them."""


async def explained(nodes: NodeConnections, *, may_have_had_effect: bool) -> Unreachable | None:
    """Why a question that any broker may answer, or pass on to the controller, had no answer; None: the node that was
    asked may be to blame.

    A broker in KRaft mode keeps what it has to pass on for as long as no controller is active: it looks as if it hung,
    and is not to blame. So each node is asked on a connection of its own, since a broker answers in order.
    """
    asked = list(nodes.nodes)
    found = await asyncio.gather(*(_asked_apart(nodes, node) for node in asked))
    return _reason(dict(zip(asked, found, strict=True)), may_have_had_effect)


def _reason(found: Mapping[int, Found], may_have_had_effect: bool) -> Unreachable | None:
    dead = {node: why for node, why in found.items() if isinstance(why, Unreachable)}
    alone = sorted(node for node, one in found.items() if one is True)
    if alone and len(alone) + len(dead) == len(found):
        return NoActiveController(
            LostQuorum(alone, dict.fromkeys(sorted(dead))), may_have_had_effect=may_have_had_effect
        )
    if dead and len(dead) == len(found):
        reasons = [dead[node].message for node in sorted(dead)]
        return Unreachable(first_of(reasons, NAMED, between="; "), may_have_had_effect=may_have_had_effect)
    return None


async def _asked_apart(nodes: NodeConnections, node: int) -> Found:
    try:
        async with asyncio.timeout(ANSWER_S):
            connection = await nodes.apart(node)
    except Unauthenticated:
        return False
    except Unreachable as error:
        return error
    except TimeoutError:
        return Unreachable(f"{nodes.nodes.get(node)}: no answer within {ANSWER_S:g} s")
    try:
        if DescribeQuorumRequest.API_KEY not in await connection.versions():
            return False
        of_log = DescribeQuorumRequest.TopicData
        one = of_log(topic_name=METADATA_LOG, partitions=[of_log.PartitionData(partition_index=0)])
        async with asyncio.timeout(ANSWER_S):
            await connection.call(DescribeQuorumRequest, DescribeQuorumRequest(topics=[one]), 0, raw=True)
    except TimeoutError:
        return True
    except (OSError, EOFError, RemoteProtocolError):
        return False
    else:
        return False
    finally:
        connection.close()


WORD_S = 3.0
"""After this time a call says that it waits."""


@dataclass
class _Call:
    """`why`: its last failure."""

    why: str = "nothing has failed so far."


_present: ContextVar[_Call | None] = ContextVar("present", default=None)
"""The call that this task is a part of."""


class SlowCalls:
    """For what a call waits, and until when. `say` gets the text, once in a call, in the event loop's thread; None:
    nobody wants it.
    """

    def __init__(self) -> None:
        self.say: Callable[[str], None] | None = None

    @contextmanager
    def told(self, deadline: float) -> Iterator[None]:
        """`deadline`: of the call, by the clock of the event loop. A part of another call says nothing."""
        if _present.get() is not None:
            yield
            return
        token = _present.set(call := _Call())
        timer = asyncio.get_running_loop().call_later(WORD_S, self._tell, call, deadline)
        try:
            yield
        finally:
            timer.cancel()
            _present.reset(token)

    @staticmethod
    def failed(why: str) -> None:
        """The present call goes on trying."""
        if (call := _present.get()) is not None:
            call.why = why

    def _tell(self, call: _Call, deadline: float) -> None:
        left = deadline - asyncio.get_running_loop().time()
        if self.say is not None and left > 0:
            until = time.strftime("%H:%M:%S", time.localtime(time.time() + left))
            self.say(f"No answer yet, trying on until {until}: {call.why}")
