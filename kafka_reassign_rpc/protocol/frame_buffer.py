"""Cuts a stream of bytes into frames: four bytes of length, then that many bytes. The length alone allocates nothing.
Each byte is copied at most twice, however the stream is split; a frame that arrives in one piece skips the buffer.
"""

from kafka_reassign_rpc.protocol.frame_errors import BadFrameSize


class FrameBuffer:
    def __init__(self, least: int, most: int) -> None:
        self._least = least
        self._most = most
        self._kept = bytearray()
        self._missing = 0
        """Until so many more bytes have come, the kept bytes need not be looked at."""
        self._single = False

    def __len__(self) -> int:
        return len(self._kept)

    def bound(self, least: int, most: int, *, single: bool) -> None:
        """For the frames that are not cut off yet. With `single`, `receive` cuts off at most one."""
        self._least, self._most, self._single = least, most, single
        self._missing = 0

    def receive(self, data: bytes) -> tuple[list[bytes], BadFrameSize | None]:
        """Returns the frames that are complete now, without their lengths, and the error of the frame behind them."""
        source: bytes | bytearray = data
        if self._kept:
            self._kept += data
            if len(data) < self._missing:
                self._missing -= len(data)
                return [], None
            source = self._kept
        frames: list[bytes] = []
        pos, end = 0, len(source)
        self._missing = 0
        while end - pos >= 4 and not (self._single and frames):
            size = int.from_bytes(source[pos : pos + 4], "big", signed=True)
            if not self._least <= size <= self._most:
                self._kept = bytearray()
                return frames, BadFrameSize(f"a frame of {size} bytes, {self._least} to {self._most} are accepted")
            stop = pos + 4 + size
            if stop > end:
                self._missing = stop - end
                break
            with memoryview(source) as view:  # one copy
                frames.append(bytes(view[pos + 4 : stop]))
            pos = stop
        if source is self._kept:
            del self._kept[:pos]
        elif pos < end:
            self._kept += source[pos:]
        return frames, None

    def whole(self, data: bytes) -> bytes | None:
        """Returns the frame, if these bytes are one frame and none are kept, as for most pieces of input."""
        size = len(data) - 4
        if self._kept or not self._least <= size <= self._most or int.from_bytes(data[:4], "big") != size:
            return None
        return data[4:]

    def keep(self, data: bytes) -> None:
        """Takes in bytes that the next `receive` cuts into frames."""
        self._kept += data
        self._missing = 0

    def clear(self) -> None:
        self._kept = bytearray()
