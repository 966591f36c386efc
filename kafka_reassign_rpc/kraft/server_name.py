"""How a server is called in its claims of the state log: so others know where clients find it."""

from typing import NamedTuple, Self

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.host_port import Address, BadAddress, host_port


class ServerName(NamedTuple):
    """`1000@host:9092`: its id, and where clients reach it."""

    id: int
    at: Address

    def __str__(self) -> str:
        return f"{self.id}@{self.at}"

    @classmethod
    def of(cls, text: str) -> Self | None:
        """None: it is no name of a server."""
        number, _, place = text.partition("@")
        server = whole_number(number, 0, INT32)
        try:
            return None if server is None else cls(server, host_port(place))
        except BadAddress:
            return None
