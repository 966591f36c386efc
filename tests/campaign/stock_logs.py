"""What the logs of stock brokers tell of replicas' logs that they have begun.

A stock broker (3.9.1) makes the directory of a new replica before it asks ZooKeeper for the topic's configs
(LogManager.getOrCreateLog). Where its session expires meanwhile it gives the replica up until a controller assigns it,
and then chooses a log dir once more: maybe another one. At its next start it would find two logs of the replica, and
end. Which controller has told it makes no difference.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

_GIVEN_UP = re.compile(
    r"A ZooKeeper client exception has occurred\. make\w+ will be skipping the state change for the partition (\S+) "
)


def given_up(logs: Mapping[int, Path]) -> frozenset[tuple[int, str]]:
    """The brokers, and the replicas that they have given up at some time, from their logs."""
    return frozenset(
        (broker, name)
        for broker, log in logs.items()
        if log.exists()
        for name in _GIVEN_UP.findall(log.read_text(errors="replace"))
    )


def delete_begun(log_dirs: Iterable[Path], names: Iterable[str]) -> None:
    """Delete the empty directories of these replicas, as Kafka asks for it where another log dir has the log."""
    for name in names:
        for path in log_dirs:
            begun = path / name
            if begun.is_dir() and not any(begun.iterdir()):
                begun.rmdir()
