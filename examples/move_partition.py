"""Move a partition to other brokers, and wait until the move is over.

    python examples/move_partition.py localhost:9092 payments 0 4,5,6

The target is the whole replica list, preferred leader first. The server leads the move; this program only watches it.
"""

import sys
import time

from kafka_reassign_rpc.client import KafkaError, MoveTerms, ReassignmentClient, TopicPartition

POLL_SECONDS = 1.0


def main(bootstrap: str, topic: str, partition: str, replicas: str) -> int:
    name = TopicPartition(topic, int(partition))
    target = tuple(map(int, replicas.split(",")))
    with ReassignmentClient(bootstrap_servers=bootstrap) as client:
        result = client.alter_partition_reassignments({name: MoveTerms(target, reason="examples/move_partition.py")})
        error = result[name]
        if error is not None:
            print(f"The controller refused the move: {error}")
            return 1
        print(f"{name} moves to {list(target)}")
        wait(client, name)
        print(f"{name} has moved")
    return 0


def wait(client: ReassignmentClient, name: TopicPartition) -> None:
    """Return once the partition does not move any more. Print the progress of the move until then."""
    while client.list_partition_reassignments([name]):
        for move in client.moves_in_flight([name]):
            if move.remaining_ms is not None:
                print(f"  {move.remaining_ms / 1000:.0f} s remain at {move.rate:,} B/s")
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    try:
        sys.exit(main(*sys.argv[1:]))
    except KafkaError as error:
        sys.exit(f"{type(error).__name__}: {error}")
