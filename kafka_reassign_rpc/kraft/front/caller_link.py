"""The connection to a broker that belongs to one client of the front: what it has logged in as there is its own."""

import asyncio
import random
import ssl
from collections.abc import Callable, Sequence
from typing import cast

from kafka_reassign_rpc.core.acls.acl_binding import AclOperation
from kafka_reassign_rpc.protocol.client_connection import MIN_ANSWER_BYTES
from kafka_reassign_rpc.protocol.frame_buffer import FrameBuffer
from kafka_reassign_rpc.protocol.frame_codec import decode_response, encode_request
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import DescribeClusterRequest, DescribeClusterResponse
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.host_port import Address

CONNECT_S = 5.0
"""For one broker; then the next one is tried."""
MOST_TRIED = 5
ANSWER_S = 300.0
"""No admin request takes a broker longer: clients give up before."""
MAX_ANSWER_BYTES = 100_000_000
"""Metadata of a million partitions has 60 MB."""
_TOLD_FROM, _MOST = 0, 1
"""Versions of DescribeCluster that this asks in: every KRaft broker has them."""
NOT_TOLD = -(2**31)
"""Of authorized operations that were not asked for."""


class LinkLost(Exception):
    """The client's request has no answer. The text says why."""


class CallerLink(asyncio.Protocol):
    """Opens with its first request. Requests go one at a time. `lost` is called when the broker has closed it: the
    client's login is gone with it. `where`: the brokers that may be asked, tried in any order.
    """

    def __init__(
        self, where: Callable[[], Sequence[Address]], tls: ssl.SSLContext | None, lost: Callable[[], None]
    ) -> None:
        self._where = where
        self._tls = tls
        self._lost = lost
        self._frames = FrameBuffer(MIN_ANSWER_BYTES, MAX_ANSWER_BYTES)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[bytes] | None = None
        self._is_over = False

    async def ask(self, frame: bytes) -> bytes:
        """A request without its length to its answer, likewise. Raises LinkLost."""
        if self._is_over:
            raise LinkLost("the broker has closed the connection")
        if self._transport is None:
            await self._open()
        assert self._transport is not None
        assert self._answer is None, "requests go one at a time"
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.writelines([len(frame).to_bytes(4, "big"), frame])
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await self._answer
        except TimeoutError:
            self.close()
            raise LinkLost(f"the broker did not answer within {ANSWER_S:g} s") from None
        finally:
            self._answer = None
        if answer[:4] != frame[4:8]:
            self.close()
            raise LinkLost("the broker answers another request")
        return answer

    async def allowed(self, client_id: str | None) -> frozenset[AclOperation]:
        """What the client may do on the cluster, as the broker knows it. Raises LinkLost."""
        request = DescribeClusterRequest(
            version=0, include_cluster_authorized_operations=True, include_fenced_brokers=False, endpoint_type=1
        )
        frame = encode_request(request, version=0, correlation_id=0, client_id=client_id)[4:]
        try:
            _, found = decode_response(DescribeClusterResponse, await self.ask(frame), version=0)
        except RemoteProtocolError as error:
            self.close()
            raise LinkLost(f"DescribeCluster: {error}") from error
        if found.error_code:
            return frozenset()
        return frozenset(AclOperation.of(one) for one in found.authorized_operations or ())

    async def _open(self) -> None:
        """Raises LinkLost."""
        why = "no broker is known"
        places = list(self._where())
        random.shuffle(places)
        for at in places[:MOST_TRIED]:
            try:
                async with asyncio.timeout(CONNECT_S):
                    await asyncio.get_running_loop().create_connection(
                        lambda: self, at.host, at.port, ssl=self._tls, server_hostname=at.host if self._tls else None
                    )
            except (OSError, TimeoutError) as error:  # ssl.SSLError is an OSError
                why = f"{at}: {error_text(error)}"
                continue
            if self._is_over:  # the client has gone meanwhile
                self.close()
                raise LinkLost("it was given up")
            return
        raise LinkLost(why)

    def close(self) -> None:
        self._is_over = True
        if self._transport is not None:
            self._transport.abort()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        frames, fault = self._frames.receive(data)
        if fault is not None or len(frames) > 1 or (frames and (self._answer is None or self._answer.done())):
            self.close()
        elif frames and self._answer is not None:
            self._answer.set_result(frames[0])

    def connection_lost(self, error: Exception | None) -> None:
        self._is_over = True
        if self._answer is not None and not self._answer.done():
            why = "the broker has closed the connection" if error is None else error_text(error)
            self._answer.set_exception(LinkLost(why))
        self._lost()
