"""Cancel every move of the cluster, those in flight and those that wait in the queue.

    python examples/cancel_all_moves.py localhost:9092

A cancelled partition has its original replicas again, in their original order.
"""

import sys

from kafka_reassign_rpc.client import KafkaError, ReassignmentClient


def main(bootstrap: str) -> int:
    failed = False
    with ReassignmentClient(bootstrap_servers=bootstrap) as client:
        moves = client.list_partition_reassignments()
        for partition, error in client.cancel_partition_reassignments(moves).items():
            failed |= error is not None
            print(f"{partition}: {'cancelled' if error is None else error}")
        print(f"{len(moves)} moves")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        sys.exit(main(*sys.argv[1:]))
    except KafkaError as error:
        sys.exit(f"{type(error).__name__}: {error}")
