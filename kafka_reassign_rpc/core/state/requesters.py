"""Who asked for a decision: a client, a znode or the controller itself.

Clients choose their ids and names, so `who`, the text for people, quotes all but plain words: `User:alice as "root from
10.0.0.9" from 10.0.0.7`. Programs use the fields.
"""

from typing import NamedTuple

from kafka_reassign_rpc.support.bounded_text import word

LONGEST_PART = 100
"""Characters of a client id that are kept."""
LONGEST_PRINCIPAL = 250
"""Characters of a principal that are kept: names of certificates are long."""


class Requester(NamedTuple):
    """A client has a principal, an address and a listener."""

    who: str
    principal: str | None = None
    client_id: str | None = None
    address: str | None = None
    listener: str | None = None
    mechanism: str | None = None

    @property
    def is_client(self) -> bool:
        return self.principal is not None and self.address is not None

    def is_same(self, other: "Requester") -> bool:
        """Clients are compared by their fields: `who` has more of a long principal than znodes keep."""
        return self[1:] == other[1:] and (self.is_client or self.who == other.who)


CONTROLLER = Requester("controller")
"""Decides without a request, as at the completion of a move."""


def znode(path: str) -> Requester:
    return Requester(f"znode {path}")


BY_BATCH = znode("/admin/reassign_partitions")
BY_CANCEL = znode("/admin/cancel_reassignment_in_progress")
BY_QUEUE = znode("/admin/reassign_partitions_queue")
BY_REQUESTS = znode("/admin/reassignment_requests")

_OF_ROUTES = {"batch": BY_BATCH, "queue": BY_QUEUE, "request": BY_REQUESTS, "heal": CONTROLLER}


def requester_of(route: str, by: Requester | None) -> Requester | None:
    """Who asked for a move that came by this route, None: a client of which nothing is recorded."""
    return by or _OF_ROUTES.get(route)


def asked_by(route: str, by: Requester | None) -> str | None:
    """`requester_of`, for people."""
    known = requester_of(route, by)
    return None if known is None else known.who


def by_topic_znode(topic: str) -> Requester:
    return znode(f"/brokers/topics/{topic}")


def by_deletion_mark(topic: str) -> Requester:
    return znode(f"/admin/delete_topics/{topic}")


def client(
    principal: str, client_id: str | None, address: str, listener: str | None = None, mechanism: str | None = None
) -> Requester:
    named = f" as {word(client_id, LONGEST_PART)}" if client_id else ""
    return Requester(
        f"{word(principal, LONGEST_PRINCIPAL)}{named} from {word(address, LONGEST_PART)}",
        principal[:LONGEST_PRINCIPAL],
        client_id[:LONGEST_PART] if client_id else None,
        address,
        listener or None,
        mechanism or None,
    )
