"""How far a move between log dirs is. The broker alone shows what is left to do, so submit can be killed at any point
and started again:

the replica                                      its state
lies in the target, no copy                      done
lies where it was, its copy goes to the target   moving
lies where it was, no copy                       to begin
lies in the target, its copy goes back           to begin: the same request ends that copy
anything else                                    does not fit: submit does not begin it
"""

from enum import StrEnum
from typing import NamedTuple

from kafka_reassign_rpc.client import Replica


class DirMove(NamedTuple):
    """`size` comes from the snapshot."""

    replica: Replica
    present: str
    target: str
    size: int


class SeenReplica(NamedTuple):
    """The replica's log dir, its copy's, and their bytes."""

    current: str | None = None
    future: str | None = None
    size: int = 0
    copied: int = 0


class MoveState(StrEnum):
    DONE = "done"
    MOVING = "moving"
    TO_BEGIN = "to begin"
    DOES_NOT_FIT = "does not fit"


def state_of(move: DirMove, seen: SeenReplica) -> tuple[MoveState, str]:
    """The state, and why the move does not fit."""
    if seen.current is None:
        return MoveState.DOES_NOT_FIT, "the broker has it in no live log dir"
    if seen.current == move.target:
        if seen.future is None:
            return MoveState.DONE, ""
        if seen.future == move.present:
            return MoveState.TO_BEGIN, ""
    elif seen.current == move.present:
        if seen.future is None:
            return MoveState.TO_BEGIN, ""
        if seen.future == move.target:
            return MoveState.MOVING, ""
    else:
        return MoveState.DOES_NOT_FIT, f"lies in {seen.current}, the plan was made for {move.present}"
    return MoveState.DOES_NOT_FIT, f"its broker copies it to {seen.future} already"
