"""Who asked for a decision: a client, a znode or the controller itself.

A client chooses its client id, and may have any name. So `who`, the text for people, quotes what is not a plain word:
`User:alice as "root from 10.0.0.9" from 10.0.0.7`. Programs use the fields.
"""

from typing import NamedTuple

from kafka_reassign_rpc.support.bounded_text import word

LONGEST_PART = 100
"""Characters of a client id that are kept: clients choose its length."""
LONGEST_PRINCIPAL = 250
"""... and of a principal: names of certificates are long."""


class Requester(NamedTuple):
    """Who asked. `who`: for people. A client has a principal, an address and the listener that it came in by, a
    client id where it sends one, and a mechanism where it has authenticated by SASL."""

    who: str
    principal: str | None = None
    client_id: str | None = None
    address: str | None = None
    listener: str | None = None
    mechanism: str | None = None

    @property
    def is_client(self) -> bool:
        return self.principal is not None and self.address is not None


CONTROLLER = Requester("controller")
"""Of decisions without a request, such as the completion of a move."""


def znode(path: str) -> Requester:
    """Somebody who has written to ZooKeeper."""
    return Requester(f"znode {path}")


BY_BATCH = znode("/admin/reassign_partitions")
BY_CANCEL = znode("/admin/cancel_reassignment_in_progress")
BY_QUEUE = znode("/admin/reassign_partitions_queue")


def by_topic_znode(topic: str) -> Requester:
    """Somebody who has changed a topic."""
    return znode(f"/brokers/topics/{topic}")


def by_deletion_mark(topic: str) -> Requester:
    """Somebody who has marked a topic for deletion."""
    return znode(f"/admin/delete_topics/{topic}")


def client(
    principal: str, client_id: str | None, address: str, listener: str | None = None, mechanism: str | None = None
) -> Requester:
    """A client with what its connection is known by."""
    named = f" as {word(client_id, LONGEST_PART)}" if client_id else ""
    return Requester(
        f"{word(principal, LONGEST_PRINCIPAL)}{named} from {word(address, LONGEST_PART)}",
        principal[:LONGEST_PRINCIPAL],
        client_id[:LONGEST_PART] if client_id else None,
        address,
        listener or None,
        mechanism or None,
    )
