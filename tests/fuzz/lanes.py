"""What is done to the server at the same time: frames, znodes, HTTP requests, logins, and connections that want
nothing.

Each lane is a sequence of cases. The seed, the lane's name and the case's number alone say what a case sends.
"""

import asyncio
import itertools
import struct
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from random import Random

from kafka_reassign_rpc.protocol.frame_codec import decode_response
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import RESPONSES
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NodeExists, NoNode, NotEmpty, ZkError
from tests.fuzz import http, tokens, znodes
from tests.fuzz.connections import HOSTS, connected
from tests.fuzz.frames import Frame, frame, variants
from tests.fuzz.site import Site
from tests.fuzz.verdict import Finding, in_answer

WORKERS = {"frames": 6, "znodes": 1, "http": 4, "slow": 120, "tokens": 6, "bursts": 24}
"""Cases at a time, by lane."""
USUAL = frozenset(WORKERS) - {"bursts"}
"""The lanes that run where none are named: bursts leave little of the machine to others."""
BURST = 100
"""Frames of a burst."""
ANSWER_S = 90.0
"""How long a case waits for an answer. A request that waits in the server says for how long (timeout_ms): a second."""
DECODED = 200_000
"""Bytes of the largest answer that is decoded: it costs this process time."""
KEPT = 500
"""Cases that the journal has of each lane."""
ZNODE_EVERY_S = 0.03


class Lanes:
    """Runs the lanes until they are cancelled.

    counts    cases by lane and kind, and what became of them
    findings  what must not be
    journal   the last cases of each lane
    """

    def __init__(self, seed: int, made: Site, *, largest: int, first: int) -> None:
        self._seed = seed
        self._server, self._pages, self._secured, self._zk = made.address, made.pages, made.secured, made.zk
        self._largest = largest
        self._numbers: dict[str, Iterator[int]] = {lane: itertools.count(first) for lane in WORKERS}
        self.counts: Counter[str] = Counter()
        self.findings: list[Finding] = []
        self.journal: dict[str, deque[str]] = {lane: deque(maxlen=KEPT) for lane in WORKERS}

    async def run(self, lanes: frozenset[str]) -> None:
        """Never ends by itself. Raises what a case raises that is no refusal of the server."""
        work: dict[str, Callable[[Random, str], Awaitable[None]]] = {
            "frames": self._frames,
            "znodes": self._znode,
            "http": self._http,
            "slow": self._slow,
            "tokens": self._tokens,
            "bursts": self._bursts,
        }
        async with asyncio.TaskGroup() as group:
            for lane in sorted(lanes):
                for _ in range(WORKERS[lane]):
                    group.create_task(self._cases(lane, work[lane]))

    async def _cases(self, lane: str, work: Callable[[Random, str], Awaitable[None]]) -> None:
        for number in self._numbers[lane]:
            with suppress(OSError, EOFError):
                await work(Random(f"{self._seed}/{lane}/{number}"), f"{lane} {number}")
            self.counts[lane] += 1

    def _note(self, case: str, what: object) -> None:
        self.journal[case.split(maxsplit=1)[0]].append(f"{case}: {what}")

    # ------------------------------------------------------------------------------------------------ frames

    async def _frames(self, rng: Random, case: str) -> None:
        """One to twenty frames on one connection; most cases have few."""
        async with connected(self._server, rng.choice(HOSTS)) as (reader, writer):
            for _ in range(rng.choice((1, 3, 20))):
                sent = frame(rng, self._largest)
                self._note(case, sent)
                self.counts[f"frames {sent.kind}"] += 1
                writer.write(sent.data)
                await writer.drain()
                if not sent.whole or not await self._answered(reader, sent, case):
                    break

    async def _answered(self, reader: asyncio.StreamReader, sent: Frame, case: str) -> bool:
        """Reads and checks the answer, if the frame gets one. False where the server has closed the connection."""
        if not sent.wants_answer:
            self.counts["frames without an answer"] += 1
            return True
        try:
            async with asyncio.timeout(ANSWER_S):
                size = int.from_bytes(await reader.readexactly(4), "big")
                data = await reader.readexactly(size)
        except TimeoutError:
            self.findings.append(Finding("no answer", f"{case}: {sent}, within {ANSWER_S:g} s", str(sent.key)))
            return False
        except (OSError, EOFError):
            if sent.kind == "valid":
                self.counts["valid frames that closed their connection"] += 1
            return False
        self.counts["answers"] += 1
        self._check_answer(data, sent, case)
        return True

    def _check_answer(self, data: bytes, sent: Frame, case: str) -> None:
        """Checks the answer, where the frame's API and version are those that were drawn."""
        if sent.kind not in ("header", "damaged", "truncated") or struct.unpack_from(">hh", sent.data, 4) == sent[:2]:
            self._check(data, sent, case)

    def _check(self, data: bytes, sent: Frame, case: str) -> None:
        if len(data) > DECODED:
            return
        try:
            _, answer = decode_response(RESPONSES[sent.key], data, version=sent.version)
        except ProtocolError as error:
            self.findings.append(
                Finding("answer", f"{case}: the answer to {sent} cannot be decoded: {error}", str(sent.key))
            )
        else:
            self.findings += in_answer(answer, f"{case}: {sent}")

    async def _bursts(self, rng: Random, case: str) -> None:
        """Variants of one frame, many on their way at once. After one that closes its connection, a new one goes on."""
        left = variants(rng, BURST)
        self._note(case, left[0])
        while left:
            async with connected(self._server, rng.choice(HOSTS)) as (reader, writer):
                writer.writelines([sent.data for sent in left])
                answered = await self._answers(reader, left, case)
            del left[: answered + 1]

    async def _answers(self, reader: asyncio.StreamReader, sent: list[Frame], case: str) -> int:
        """How many frames were answered before the server closed the connection; counts that one too."""
        for number, one in enumerate(sent):
            self.counts["frames in bursts"] += 1
            if not await self._answered(reader, one, case):
                return number
        return len(sent)

    # ------------------------------------------------------------------------------------------------ znodes

    async def _znode(self, rng: Random, case: str) -> None:
        change = znodes.change(rng)
        self._note(case, change)
        try:
            if change.data is None:
                await self._delete(change.path)
            else:
                await self._put(change.path, change.data, sequence=change.sequence)
        except ZkError as error:
            self.counts[f"znodes refused: {type(error).__name__}"] += 1
        await asyncio.sleep(ZNODE_EVERY_S)

    async def _put(self, path: str, data: bytes, *, sequence: bool) -> None:
        await self._zk.ensure_path(path.rpartition("/")[0])
        try:
            await self._zk.create(path, data, sequence=sequence)
        except NodeExists:
            with suppress(NoNode):
                await self._zk.set(path, data)

    async def _delete(self, path: str) -> None:
        with suppress(NoNode):
            for child in await self._zk.children(path):
                await self._delete(f"{path}/{child}")
            with suppress(NotEmpty):
                await self._zk.delete(path)

    # ------------------------------------------------------------------------------------------------ HTTP

    async def _http(self, rng: Random, case: str) -> None:
        data = http.request(rng)
        self._note(case, repr(data[:100]))
        async with connected(self._pages, rng.choice(HOSTS)) as (reader, writer):
            writer.write(data)
            with suppress(TimeoutError):
                async with asyncio.timeout(rng.choice((0.1, 1.0))):
                    answer = await reader.read(1 << 16)
                    if answer.startswith(b"HTTP/1.1 500"):
                        self.findings.append(Finding("http", f"{case}: {data[:500]!r} is answered {answer[:500]!r}"))

    # ------------------------------------------------------------------------------------------------ logins

    async def _tokens(self, rng: Random, case: str) -> None:
        """A login, or what is none, until the server closes the connection. Nobody gets in without a password."""
        token = b""
        proven = False
        async with connected(self._secured, rng.choice(HOSTS)) as (reader, writer):
            for sent in tokens.exchange(rng):
                data = sent.made if isinstance(sent.made, bytes) else sent.made(token)
                self._note(case, f"{sent.kind} {data[:100]!r}, {len(data)} bytes")
                self.counts[f"tokens {sent.kind}"] += 1
                proven = proven or sent.right or tokens.PASSWORD.encode() in data
                writer.write(struct.pack(">i", len(data)) + data)
                async with asyncio.timeout(ANSWER_S):
                    answer = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
                token, logged_in = tokens.read(data, answer)
                self.counts["tokens logged in"] += logged_in
                if logged_in and not proven:
                    self.findings.append(Finding("login", f"{case}: {sent.kind} {data[:500]!r} is let in"))

    # ------------------------------------------------------------------------------------------------ slow clients

    async def _slow(self, rng: Random, case: str) -> None:
        """A connection that is silent, sends half a frame or drips, or reads no answer, for some seconds."""
        kind = rng.choice(("silent", "half", "drip", "unread"))
        pages = kind != "unread" and rng.random() < 0.3
        self._note(case, f"{kind} {'HTTP' if pages else ''}")
        self.counts[f"slow {kind}"] += 1
        async with connected(self._pages if pages else self._server, rng.choice(HOSTS)) as (_, writer):
            until = asyncio.get_running_loop().time() + rng.uniform(0.1, 10)
            if kind == "unread":
                writer.transport.pause_reading()  # type: ignore[attr-defined]
            while asyncio.get_running_loop().time() < until and not writer.is_closing():
                if kind == "unread":
                    writer.write(frame_of_metadata())
                elif kind == "drip":
                    writer.write(b"G" if pages else b"\0")
                elif kind == "half":
                    writer.write(b"GET /metrics HT" if pages else struct.pack(">i", 100_000) + rng.randbytes(50_000))
                    await asyncio.sleep(until - asyncio.get_running_loop().time())
                if writer.transport.get_write_buffer_size() > 100_000:
                    break
                await asyncio.sleep(0.1)


def frame_of_metadata() -> bytes:
    """Metadata of all topics."""
    return struct.pack(">ihhihi", 14, 3, 1, 1, -1, -1)
