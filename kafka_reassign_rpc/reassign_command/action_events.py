"""--events: prints the events that the controller has recorded, one line each; with --json one document each."""

from datetime import UTC, datetime

from kafka_reassign_rpc.client import UnsupportedHere
from kafka_reassign_rpc.client.event_calls import Event
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure
from kafka_reassign_rpc.reassign_command.reassignment_json import compact
from kafka_reassign_rpc.support.bounded_text import word

LONGEST_TOPIC = 249
"""Kafka's limit, in characters."""
_IN_FRONT = ("at", "event", "topic", "partition", "seq", "epoch", "server")
_IN_WHO = ("principal", "client_id", "address")
"""Fields that only documents have: `who` has them too."""


def run(context: ActionContext) -> None:
    try:
        for event in context.client.reassignment_events(follow=context.options.has("follow")):
            context.output.line(line(event))
            context.output.document(event)
    except UnsupportedHere as error:
        raise TerseFailure(error.message) from None


def line(event: Event) -> str:
    """An event as text: time, name, topic and partition, then its other fields."""
    at = datetime.fromtimestamp(event["at"] / 1000, UTC)
    of = f" {word(event['topic'], LONGEST_TOPIC)}" if "topic" in event else ""
    if "partition" in event:
        of += f"-{event['partition']}"
    rest = "".join(f" {name}={compact(value)}" for name, value in event.items() if name not in (*_IN_FRONT, *_IN_WHO))
    return f"{at:%Y-%m-%d %H:%M:%S} {event['event']}{of}{rest}"
