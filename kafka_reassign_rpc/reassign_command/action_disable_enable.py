"""--disable and --enable: whether new moves may start (KIP-236)."""

from kafka_reassign_rpc.client import UnsupportedHere
from kafka_reassign_rpc.core.restrictions import ENABLED
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import Terse


def disable(session: ActionContext) -> None:
    try:
        reason = session.client.disable()
    except UnsupportedHere as error:
        raise Terse(error.message) from None
    if reason is None:
        raise Terse(f"{ENABLED}=false was set for the cluster, but somebody has taken it away already.")
    session.output.line(reason)
    session.output.note(enabled=False, reason=reason)


def enable(session: ActionContext) -> None:
    """Raises Terse where moves may not start all the same."""
    try:
        reason = session.client.enable()
    except UnsupportedHere as error:
        raise Terse(error.message) from None
    session.output.note(enabled=reason is None, reason=reason)
    if reason is not None:
        raise Terse(f"{ENABLED}=false is not set for the cluster any more. But: {reason}")
    session.output.line("Reassignments may be started.")
