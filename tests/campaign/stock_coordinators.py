"""What the logs of stock brokers tell of their coordinators of transactions.

Before a stock broker (3.9.1) loads a partition of __transaction_state it asks ZooKeeper for the number of partitions
(TransactionStateManager.validateTransactionTopicPartitionCountIsStable). Where its session expires meanwhile it gives
the load up, and keeps it among those that are under way: until its next start it answers COORDINATOR_LOAD_IN_PROGRESS
there, in later leader epochs and as a follower too. Groups have nothing of the kind: their load asks nobody, and
catches every error.
"""

import re
from collections.abc import Mapping
from pathlib import Path

TOPIC = "__transaction_state"

_STARTING = "INFO starting (kafka.server.KafkaServer)"
_FAILED = re.compile(
    rf"Uncaught exception in scheduled task 'load-txns-for-partition-{TOPIC}-(\d+)'.*\n.*SessionExpiredException"
)


def failed_loads(logs: Mapping[int, Path]) -> frozenset[tuple[int, int]]:
    """The brokers, and the partitions of TOPIC that they have given up since their last start, from their logs."""
    return frozenset(
        (broker, int(index))
        for broker, log in logs.items()
        for index in _FAILED.findall(log.read_text(errors="replace").rpartition(_STARTING)[2])
    )
