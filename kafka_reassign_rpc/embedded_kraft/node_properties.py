"""The properties of a node that say where it and its controllers are. Pure."""

from collections.abc import Mapping

HOST = "127.0.0.1"


def of_quorum(voters: Mapping[int, int]) -> dict[str, str]:
    """What each node knows of the controllers: their ports by id."""
    return {
        "controller.quorum.voters": ",".join(f"{voter}@{HOST}:{port}" for voter, port in voters.items()),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }


def of_node(node: int, as_broker: int | None, as_controller: int | None) -> dict[str, str]:
    """`as_broker`, `as_controller`: its port in this role; None: it has not that role."""
    roles = {"broker": ("PLAINTEXT", as_broker), "controller": ("CONTROLLER", as_controller)}
    listeners = {role: f"{name}://{HOST}:{port}" for role, (name, port) in roles.items() if port is not None}
    return {
        "process.roles": ",".join(listeners),
        "node.id": str(node),
        "listeners": ",".join(listeners.values()),
    }
