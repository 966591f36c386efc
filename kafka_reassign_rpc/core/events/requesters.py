"""Who asked for a decision: a client, a znode or the controller itself.

A client chooses its client id, and may have any name. So `who`, the text for people, quotes what is not a plain word:
`User:alice as "root from 10.0.0.9" from 10.0.0.7`. Programs use the fields.
"""

from typing import NamedTuple

from kafka_reassign_rpc.support.bounded_text import word

LONGEST_PART = 100
"""Characters of a principal or client id that are kept: clients choose their length."""


class Requester(NamedTuple):
    """Who asked. `who`: for people. A client has a principal and an address, and a client id where it sends one."""

    who: str
    principal: str | None = None
    client_id: str | None = None
    address: str | None = None


CONTROLLER = Requester("controller")
"""Of decisions without a request, such as the completion of a move."""


def znode(path: str) -> Requester:
    """Somebody who has written to ZooKeeper."""
    return Requester(f"znode {path}")


def client(principal: str, client_id: str | None, address: str) -> Requester:
    """A client with its connection's principal and address."""
    named = f" as {word(client_id, LONGEST_PART)}" if client_id else ""
    return Requester(
        f"{word(principal, LONGEST_PART)}{named} from {word(address, LONGEST_PART)}",
        _cut(principal),
        _cut(client_id) if client_id else None,
        address,
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_PART else text[:LONGEST_PART]
