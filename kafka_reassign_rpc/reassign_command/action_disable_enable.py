"""--disable and --enable: switch reassignments off and on (KIP-236)."""

from kafka_reassign_rpc.client import UnsupportedHere
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure


def disable(context: ActionContext) -> None:
    try:
        reason = context.client.disable()
    except UnsupportedHere as error:
        raise TerseFailure(error.message) from None
    if reason is None:
        raise TerseFailure(f"{ENABLED}=false was set for the cluster, but somebody has taken it away already.")
    context.output.line(reason)
    context.output.collect(enabled=False, reason=reason)


def enable(context: ActionContext) -> None:
    """Raises TerseFailure if reassignments are still disabled for another reason."""
    try:
        reason = context.client.enable()
    except UnsupportedHere as error:
        raise TerseFailure(error.message) from None
    context.output.collect(enabled=reason is None, reason=reason)
    if reason is not None:
        raise TerseFailure(f"{ENABLED}=false is not set for the cluster any more. But: {reason}")
    context.output.line("Reassignments may be started.")
