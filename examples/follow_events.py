"""Print what the controller decides from now on, with the asyncio client. Ctrl-C ends it.

    python examples/follow_events.py localhost:9092

The program goes on with the next controller after a failover. docs/events.md lists the events and their fields.
"""

import asyncio
import sys
import time

from kafka_reassign_rpc.client import AsyncReassignmentClient, Event, KafkaError

FROM_NOW_ON = -1


async def main(bootstrap: str) -> None:
    async with AsyncReassignmentClient(bootstrap_servers=bootstrap) as client:
        page = await client.event_page(FROM_NOW_ON)
        print(f"following server {page.server} from event {page.next_seq} on", flush=True)
        async for event in client.reassignment_events(page.next_seq, follow=True):
            print(text(event), flush=True)


def text(event: Event) -> str:
    """One line: when, what, which partition, and who asked for it."""
    at = time.strftime("%H:%M:%S", time.localtime(event["at"] / 1000))
    partition = f" {event['topic']}-{event['partition']}" if "partition" in event else ""
    who = f" ({event['who']})" if "who" in event else ""
    return f"{at} {event['event']}{partition}{who}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        asyncio.run(main(*sys.argv[1:]))
    except KafkaError as error:
        sys.exit(f"{type(error).__name__}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
