"""Which topics of a snapshot the operator means. Does not import PySpark."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.store_paths import StorePath

_PATTERN = frozenset("*?[")
"""No topic's name has one of these."""


def chosen_topics(snapshot: StorePath, wanted: Sequence[str], excluded: Sequence[str]) -> tuple[str, ...]:
    """Names as a goal has them: () for all topics. Without patterns they stay as they are. Raises BadInput for what
    matches no topic, and where none is left.
    """
    if not excluded and all(_PATTERN.isdisjoint(one) for one in wanted):
        return tuple(wanted)
    names = sorted(snapshot_files.topic_names(snapshot))
    chosen = {*_matching("--topics", names, wanted)} if wanted else {*names}
    left = chosen - {*_matching("--exclude-topics", names, excluded)}
    if not left:
        raise BadInput("--exclude-topics: no topic is left")
    return tuple(sorted(left))


def _matching(flag: str, names: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    for pattern in patterns:
        found = [name for name in names if fnmatchcase(name, pattern)]
        if not found:
            raise BadInput(f"{flag}: the snapshot has no topic {pattern}")
        yield from found
