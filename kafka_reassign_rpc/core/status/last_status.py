"""What a server last knew, which it shows with its age while it does not know the present."""

from collections.abc import Sequence

from msgspec.structs import replace

from kafka_reassign_rpc.core.status.documents import Healing, Status, StatusProblem
from kafka_reassign_rpc.core.status.notes import notes_of


def newer(kept: Status | None, seen: Status | None) -> Status | None:
    """What to keep: a status without the moves does not replace one that has them."""
    return kept if seen is None or seen.totals is None else replace(seen, last=None)


def with_last(status: Status, kept: Status | None, *, full: bool) -> Status:
    if status.totals is not None or kept is None:
        return status
    return replace(status, last=kept if full else _counts_of(kept))


def _counts_of(status: Status) -> Status:
    """Without names, reasons, people and addresses."""
    counts = replace(
        status,
        access="counts",
        controller=replace(status.controller, page=None),
        problems=_without_texts(status.problems),
        disabled_by=None,
        disabled_who=None,
        groups=None,
        healing=None if status.healing is None else _without_people(status.healing),
    )
    return replace(counts, notes=list(notes_of(counts)))


def _without_people(healing: Healing) -> Healing:
    return replace(healing, paused_who=None, problems=None)


def _without_texts(problems: Sequence[StatusProblem]) -> list[StatusProblem]:
    return [replace(one, text=one.kind.replace("_", " ")) for one in problems]
