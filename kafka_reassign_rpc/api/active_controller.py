"""The controller of a node, if it is the active one."""

from kafka_reassign_rpc.api.ports import ControllerPort, Node
from kafka_reassign_rpc.core.kafka_errors import NotController


def active_controller(node: Node) -> ControllerPort | None:
    """The node's controller while it is active; None on a node that is not the controller."""
    controller = node.controller
    return controller if controller is not None and controller.is_active() else None


def required_controller(node: Node) -> ControllerPort:
    """Raises NotController."""
    controller = active_controller(node)
    if controller is None:
        raise NotController
    return controller
