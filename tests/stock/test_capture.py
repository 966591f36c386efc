"""The recording proxy and the choice of golden frames, without any Kafka."""

import asyncio
import struct

from .capture import Capture, Frame, take
from .golden import MAX_BYTES, choose


def _framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


async def test_frames_pass_unchanged_and_a_response_is_known_by_its_request() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (length,) = struct.unpack(">i", await reader.readexactly(4))
        data = await reader.readexactly(length)
        writer.write(_framed(data[4:8] + b"answer"))
        await reader.read()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with Capture(lambda: port) as capture:
        reader, writer = await asyncio.open_connection("127.0.0.1", capture.port)
        request = struct.pack(">hhih", 45, 1, 7, 2) + b"me" + b"body"
        writer.write(_framed(request))
        answer = await reader.readexactly(14)
        assert answer == _framed(struct.pack(">i", 7) + b"answer")
        writer.close()
        await writer.wait_closed()
        assert take([capture]) == [
            Frame(45, 1, "request", "me", request),
            Frame(45, 1, "response", "me", answer[4:]),
        ]
        assert take([capture]) == []
    server.close()
    await server.wait_closed()


def test_golden_frames_are_a_few_of_each_kind_and_none_is_large() -> None:
    frames = [
        (Frame(46, 0, "request", "x", bytes(length)), "tools") for length in (9, 5, 7, 5, 30, 20, 11, 8, MAX_BYTES + 1)
    ]
    frames += [(Frame(1, 0, "request", "x", bytes(5)), "tools"), (Frame(46, 0, "response", "x", bytes(5)), "broker")]
    files = choose(frames)
    assert list(files) == ["46-ListPartitionReassignments-v0.json"]
    lengths = [len(str(entry["hex"])) // 2 for entry in files["46-ListPartitionReassignments-v0.json"]]
    assert lengths[0] == 5
    assert max(lengths) == 30
    assert 3 <= len(lengths) <= 5
