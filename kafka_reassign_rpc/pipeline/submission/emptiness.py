"""What `submit` says at its end of brokers or log dirs that its plan empties."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.support.counted import agreeing, counted, first_of
from kafka_reassign_rpc.support.typed_commands import command

NAMED = 5


class NotEmpty(Exception):
    """The plan is carried out, but something that it empties still holds replicas. Exit code 5."""


@dataclass
class Left:
    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        self.count += 1
        if len(self.first) < NAMED:
            self.first.append(name)


def lines_of(places: Mapping[str, Left], again: Callable[[], Iterable[str]]) -> list[str]:
    """`places` are named as in "broker 3"; `again`: the commands that empty the rest."""
    lines = [
        f"{place} is not empty: it has {counted(left.count, 'replica')} ({first_of(left.first, NAMED, of=left.count)})"
        if left.count
        else f"{place} is empty"
        for place, left in places.items()
    ]
    if any(left.count for left in places.values()):
        lines.append("what is there was left out, came after the last look, or has nowhere to go; to plan it again:")
        lines += [f"  {one}" for one in again()]
    return lines


def plan_again(path: StorePath, kind: str, words: Iterable[str]) -> Iterator[str]:
    """Commands that plan what is left, with these words after `plan KIND`, and carry it out. `path`: the plan."""
    snapshot, plan = f"{path}-snapshot", f"{path}-again"
    yield command("kafka-reassign-rpc export", "--out", snapshot)
    yield f"kafka-reassign-rpc plan {kind} {shlex.join([*words, '--snapshot', snapshot, '--out', plan])}"
    yield command("kafka-reassign-rpc submit", "--plan", plan, "--execute")


def refuse_rest(places: Mapping[str, Left], begun: int) -> None:
    """Raises NotEmpty, so that nobody takes the end of the moves for the end of the drain."""
    full = [place for place, left in places.items() if left.count]
    if full:
        moves, are = counted(begun, "move", "were"), agreeing(len(full), "are")
        raise NotEmpty(f"the plan is carried out ({moves} begun now), but {first_of(full, NAMED)} {are} not empty")
