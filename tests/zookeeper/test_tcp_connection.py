"""One connection to ZooKeeper, against a peer that resets it."""

import asyncio
import socket
import struct
from typing import Any

import pytest

from kafka_reassign_rpc.zookeeper.tcp_connection import ZooKeeperConnection
from kafka_reassign_rpc.zookeeper.zookeeper_errors import Unknown
from tests.zookeeper.helpers import until

RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@pytest.mark.both_loops
async def test_sv_3_a_request_right_after_a_reset_ends_in_unknown_and_nothing_is_written() -> None:
    """The transport knows of the reset before the task that reads: such a request was a traceback with uvloop."""
    unhandled: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        connection = ZooKeeperConnection(host, port, lambda *_: None, lambda *_: None)
        await connection.connect()
        peer, _ = listener.accept()
        with peer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        await until(connection.writer.is_closing)
        waiting = connection.submit(1, bytes(16), bytes)
        await asyncio.sleep(0)
        assert "reset" in await connection.pump()
    with pytest.raises(Unknown, match="the connection was lost before the answer"):
        await waiting
    assert unhandled == []
