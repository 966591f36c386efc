"""Who asked, as znodes store it: a client by its fields, anybody else by the text for people (`who`)."""

from functools import lru_cache
from typing import Annotated

import msgspec

from kafka_reassign_rpc.core.state.requesters import LONGEST_PART, LONGEST_PRINCIPAL, Requester, client
from kafka_reassign_rpc.zookeeper.znode_decoder import Undecodable, parse

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
