"""What is read of a cluster in which there is nothing to find."""

from typing import Any

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.controller_election import ControllerOwner
from kafka_reassign_rpc.preflight.read_state import ControllerNow


def found_state() -> dict[str, Any]:
    """The fields of FoundState but `cluster`: three brokers are registered, and broker 1 is the controller."""
    return {
        "cluster_id": "c",
        "controller": ControllerNow(ControllerOwner(1, (), 5, 0), 3, 0, None),
        "registered": ["1", "2", "3"],
        "servers": [],
        "taken_ids": [],
        "migration": controller_election.migration(None),
        "marks": [],
        "election": False,
        "missing": [],
        "problems": [],
    }


def restart_state() -> dict[str, Any]:
    """The fields of RestartState."""
    return {
        "configs": {},
        "changes": {},
        "cluster_id": b'{"version":"1","id":"c"}',
        "features": b'{"version":2,"status":1,"features":{}}',
        "producer_ids": None,
        "tokens": {},
        "acls": {},
    }
