"""--events: what the controller has recorded, a line for each event; with --json a document for each."""

from datetime import UTC, datetime

from kafka_reassign_rpc.client import UnsupportedHere
from kafka_reassign_rpc.client.event_calls import Event
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import Terse
from kafka_reassign_rpc.reassign_command.reassignment_json import compact

_IN_FRONT = ("at", "event", "topic", "partition", "seq", "epoch", "server")


def run(session: ActionContext) -> None:
    try:
        for event in session.client.reassignment_events(follow=session.given.has("follow")):
            session.output.line(line(event))
            session.output.document(event)
    except UnsupportedHere as error:
        raise Terse(error.message) from None


def line(event: Event) -> str:
    """When, what, of which partition, and whatever else is known of it."""
    at = datetime.fromtimestamp(event["at"] / 1000, UTC)
    of = f" {event['topic']}" if "topic" in event else ""
    if "partition" in event:
        of += f"-{event['partition']}"
    rest = "".join(f" {name}={compact(value)}" for name, value in event.items() if name not in _IN_FRONT)
    return f"{at:%Y-%m-%d %H:%M:%S} {event['event']}{of}{rest}"
