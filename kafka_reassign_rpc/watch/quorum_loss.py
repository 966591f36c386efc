"""Since when nodes are dead while no controller is active: no node reports that, and Metadata names them as before."""

from collections.abc import Mapping, Sequence

from kafka_reassign_rpc.core.state.kraft_facts import LostQuorum


def dated(
    found: LostQuorum,
    before: LostQuorum | None,
    lost: Mapping[int, int | None] | None,
    voters: Sequence[int],
    heard_at: int,
    at: int,
) -> LostQuorum:
    """Who is found dead at first died about when the controller was heard last, a later one about now.

    before    as it was known at the look before; None: an active controller was known then
    lost      brokers that the controller had found dead; None: this process has never seen one that was active
    heard_at  when it was heard last, and `at`, now: ms since 1970
    """
    died = at if before is not None else None if lost is None else heard_at
    known = {**(lost or {}), **({} if before is None else before.dead)}
    dead = {one: known.get(one, died) for one in {*found.dead, *(lost or {})}.difference(found.answering)}
    return LostQuorum(found.answering, dead, None if lost is None else heard_at, voters)
