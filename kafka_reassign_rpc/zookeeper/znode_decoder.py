"""The one decoder of what znodes hold: JSON and numbers, from any writer. A test holds that no other module
parses a znode. The types that a decoder is made for limit numbers, texts and names. The parsers limit the depth of
nested lists and objects: they stop before they exhaust the stack. `support.bounded_text` limits the digits of a number.
No content makes a long line of the log.

Who asked is stored as the fields of a client, or as the text for people of anybody else (`who`).
"""

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Annotated, NamedTuple, TypeVar

import msgspec

from kafka_reassign_rpc.core.state.requesters import LONGEST_PART, LONGEST_PRINCIPAL, Requester, client
from kafka_reassign_rpc.support.bounded_text import shortened, shown, whole_number
from kafka_reassign_rpc.zookeeper.operations import Stat

T = TypeVar("T")

MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1

Id = Annotated[int, msgspec.Meta(ge=0, le=MAX_INT32)]
"""A broker id or a partition's number; checked during parsing."""

MAX_EPOCH = 2**30
"""The largest epoch of a leader or a controller. The next ones have to fit into an INT32 too, or no request can be
written. There are never that many elections: a larger number is a mistake."""
Epoch = Annotated[int, msgspec.Meta(ge=0, le=MAX_EPOCH)]


LARGEST = 64 * 2**20
"""Bytes. ZooKeeper takes 1 MiB by default; operators raise that for topics with many partitions."""
LONGEST_PATH, LONGEST_REASON = 300, 400
"""Characters in the message of a BadZnode."""


class BadZnode(ValueError):
    """The message has a bounded length. `reason` is for the log and for the operator."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = shortened(reason, LONGEST_REASON)
        super().__init__(f"{shortened(path, LONGEST_PATH)}: {self.reason}")


class Undecodable(ValueError):
    """A part of a znode."""


class JsonObject(NamedTuple):
    """With all its fields, also those of the same name."""

    fields: list[tuple[str, object]]


def decode_json(decoder: "msgspec.json.Decoder[T]", data: bytes, path: str) -> T:
    if len(data) > LARGEST:
        raise BadZnode(path, f"{len(data)} bytes: more than any znode needs")
    try:
        return decoder.decode(data)
    except Exception as error:  # parsers raise many kinds: for digits, depth, halves of characters, types
        raise BadZnode(path, f"{error} in {shown(data)}") from error


def parse(decoder: "msgspec.json.Decoder[T]", data: bytes | msgspec.Raw) -> T:
    try:
        return decoder.decode(data)
    except Exception as error:
        raise Undecodable(f"{error} in {shown(bytes(data))}") from error


def parse_every_field(data: bytes) -> object:
    """Any JSON, its objects as JsonObject. For people's own writing: slower, but shows names that occur twice. A text
    may have halves of characters: no topic, broker or config has such a name. Raises Undecodable.
    """
    try:
        return json.loads(data, object_pairs_hook=JsonObject)
    except Exception as error:
        raise Undecodable(f"{error} in {shown(data)}") from error


def parse_value(decoder: "msgspec.json.Decoder[T]", value: object) -> T:
    """Decodes one value that `parse_every_field` has found. Raises Undecodable."""
    try:
        return decoder.decode(json.dumps(value))
    except Exception as error:
        raise Undecodable(f"{error} in {shown(value)}") from error


def decode_number(data: bytes, high: int, path: str) -> int:
    """The whole content, from 0 on. Raises BadZnode."""
    number = whole_number(data[: LONGEST_REASON + 1].decode(errors="replace"), 0, high)
    if number is None:
        raise BadZnode(path, f"{shown(data)} is not a number from 0 to {high}")
    return number


def decode_many(
    decode: Callable[[bytes, str], T], found: Iterable[tuple[str, tuple[bytes, Stat] | None]]
) -> tuple[dict[str, T], list[BadZnode]]:
    """By path, and the malformed ones; without znodes that do not exist."""
    good: dict[str, T] = {}
    bad: list[BadZnode] = []
    for path, read in found:
        if read is None:
            continue
        try:
            good[path] = decode(read[0], path)
        except BadZnode as error:
            bad.append(error)
    return good, bad


REPORTED = 100
"""How many problems of one znode are reported one by one."""
LONGEST = 400
"""Characters of one problem."""
MAX_WRONG = 10_000
"""A znode with more malformed entries is malformed as a whole: looking for good ones among them takes too long."""


class EntryProblems:
    def __init__(self, path: str) -> None:
        self._path = path
        self._texts: list[str] = []
        self._count = self._wrong = 0

    def add(self, text: str) -> None:
        self._count += 1
        if self._count <= REPORTED:
            self._texts.append(shortened(text, LONGEST))

    def add_wrong(self, text: str) -> None:
        """For a malformed entry. Raises BadZnode if there are too many."""
        self._wrong += 1
        if self._wrong > MAX_WRONG:
            raise BadZnode(self._path, f"more than {MAX_WRONG} of its entries are malformed, the last: {text}")
        self.add(text)

    def texts(self) -> list[str]:
        more = self._count - REPORTED
        return [*self._texts, f"{more} more problems of its entries"] if more > 0 else list(self._texts)


LONGEST_WHO = 2 * LONGEST_PRINCIPAL
_Principal = Annotated[str, msgspec.Meta(max_length=LONGEST_PRINCIPAL)]
_Part = Annotated[str, msgspec.Meta(max_length=LONGEST_PART)]


class StoredClient(msgspec.Struct, omit_defaults=True, gc=False):
    """Its text for people follows from the fields."""

    principal: _Principal
    address: _Part
    client_id: _Part | None = None
    listener: _Principal | None = None
    mechanism: _Part | None = None

    def requester(self) -> Requester:
        return client(self.principal, self.client_id, self.address, self.listener, self.mechanism)


class _Other(msgspec.Struct):
    who: Annotated[str, msgspec.Meta(max_length=LONGEST_WHO)]


_client = msgspec.json.Decoder(StoredClient)
_other = msgspec.json.Decoder(_Other)
_json = msgspec.json.Encoder()


def stored_client(by: Requester) -> StoredClient:
    return StoredClient(by.principal or "", by.address or "", by.client_id, by.listener, by.mechanism)


@lru_cache(1000)
def encode_requester(by: Requester) -> msgspec.Raw:
    return msgspec.Raw(_json.encode(stored_client(by) if by.is_client else _Other(by.who[:LONGEST_WHO])))


@lru_cache(1000)
def decode_requester(data: bytes) -> Requester | None:
    """None where the requester cannot be understood: the entry keeps all else. Moves of one request share the
    value, for many of them would burden the garbage collector.
    """
    try:
        return parse(_client, data).requester()
    except Undecodable:
        pass
    try:
        return Requester(parse(_other, data).who)
    except Undecodable:
        return None
