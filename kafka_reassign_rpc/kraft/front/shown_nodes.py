"""How clients of the front see the brokers (`front.nodes`), and which broker a client means by what it connects to.

`Beside` serves tools that do their work and end: our node stands beside the brokers and is the controller, to which
clients send what concerns moves. One that lives on leaves with the first Metadata of a real broker. DescribeCluster
stays as it is: tools take its nodes for brokers, and clear throttles on each of them.

`EachHere` holds all: each broker is shown at a place of ours, so whatever a client asks, it asks here. The place is a
port of its own, or a name of its own at the listener's port: a client says in its TLS handshake which name it means.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from kafka_reassign_rpc.support.host_port import Address


class FrontNodes(StrEnum):
    BESIDE = "beside"
    PORTS = "ports"
    NAMES = "names"


class Beside(NamedTuple):
    """Our node, with an id that no broker has."""

    id: int
    at: Address


class EachHere(NamedTuple):
    """Brokers without a place of ours stay as they are. The id of the controller is that of a broker."""

    places: Mapping[int, Address]


Shown = Beside | EachHere


def place_of(nodes: FrontNodes, broker: int, front: Address) -> Address:
    """Of a broker, at the front that clients reach at `front`. The port may be none that exists."""
    if nodes is FrontNodes.PORTS:
        return Address(front.host, front.port + 1 + broker)
    return Address(f"broker-{broker}.{front.host}", front.port)


def shown(nodes: FrontNodes, node_id: int, front: Address, brokers: Iterable[int]) -> Shown:
    """By the server with this id at `front`."""
    if nodes is FrontNodes.BESIDE:
        return Beside(node_id, front)
    return EachHere({broker: place_of(nodes, broker, front) for broker in brokers})


def named_broker(name: str | None, front_host: str) -> int | None:
    """The broker that a client means by the name in its TLS handshake. None: it means the front as a whole."""
    found = re.fullmatch(rf"broker-(\d{{1,10}})\.{re.escape(front_host)}", name or "", re.ASCII | re.IGNORECASE)
    return None if found is None else int(found[1])
