"""What has to hold of the records of a topic that exists in the end."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat

from .journal import Journal, Record

SHOWN = 5


def refused(journal: Journal) -> list[str]:
    """Every record was acknowledged, however long it took."""
    return [f"{journal.topic}: {times} times {why}" for why, times in sorted(Counter(journal.refused).items())]


def delivered(
    journal: Journal,
    read: Mapping[int, Sequence[Record]],
    senders: Mapping[int, Sequence[object]] | None = None,
    earlier: Iterable[Journal] = (),
) -> list[str]:
    """Every acknowledged record can be read, once where its producer promises that, and in the order of its producer.

    read      by partition: the committed records in the order of their offsets
    senders   by partition: for each of these records its producer and that one's epoch; needed where `Journal.bumps`
    earlier   of deleted topics of this name: a record that was still on its way there may be here
    """
    deleted = {one.incarnation: one for one in earlier}
    found = []
    for partition in sorted(journal.sent.keys() | read.keys()):
        where = f"{journal.topic}-{partition}"
        records = read.get(partition, ())
        foreign = [one for one in records if one.partition != partition or not _was_sent(one, journal, deleted)]
        numbers = [one.number for one in records if one.incarnation == journal.incarnation]
        found += _differ(where, "nobody wrote to incarnation", foreign, journal.incarnation)
        acked = journal.acked.get(partition, set())
        found += _differ(where, "lost of acknowledged", sorted(acked - set(numbers)), len(acked))
        if journal.once:
            epochs = (senders or {}).get(partition) if journal.bumps else None
            written = Counter(zip(records, epochs or repeat(None, len(records)), strict=True))
            repeated = sorted({one.number for (one, _), times in written.items() if times > 1})
            found += _differ(where, "read more than once of", repeated, len(numbers))
        found += _differ(where, "out of order of", _out_of_order(numbers), len(numbers))
        shown = sorted(journal.aborted.get(partition, set()) & set(numbers))
        found += _differ(where, "aborted and yet read of", shown, len(numbers))
    return found


def consumed(journal: Journal, read: Collection[Record]) -> list[str]:
    """The group has read every acknowledged record."""
    seen = set(read)
    found = []
    for partition, numbers in sorted(journal.acked.items()):
        missed = [number for number in sorted(numbers) if Record(journal.incarnation, partition, number) not in seen]
        found += _differ(f"{journal.topic}-{partition}", "not read by the group of", missed, len(numbers))
    return found


def _was_sent(record: Record, journal: Journal, deleted: Mapping[int, Journal]) -> bool:
    """Whether it was sent to this topic, or to a deleted one of its name and has no answer."""
    to = journal if record.incarnation == journal.incarnation else deleted.get(record.incarnation)
    if to is None or record.number >= to.sent.get(record.partition, 0):
        return False
    return to is journal or record.number not in to.acked.get(record.partition, ())


def _out_of_order(numbers: Iterable[int]) -> list[int]:
    """Records whose first occurrence comes after that of a later one. A repetition is not out of order."""
    found, highest, seen = [], -1, set()
    for number in numbers:
        if number not in seen and number < highest:
            found.append(number)
        seen.add(number)
        highest = max(highest, number)
    return found


def _differ(where: str, what: str, which: Sequence[object], of: int) -> list[str]:
    if not which:
        return []
    shown = ", ".join(map(str, which[:SHOWN])) + (" …" if len(which) > SHOWN else "")
    return [f"{where}: {len(which)} {what} {of}: {shown}"]
