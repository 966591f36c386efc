"""Each row of the table of phases, met by the first look after a crash, a take-over or a write of somebody else between
any two steps of a move: whatever comes then, the move ends once, and what others have started is left alone."""

from collections.abc import Iterator

from kafka_reassign_rpc.core.phases.phases import TABLE
from kafka_reassign_rpc.core.phases.sightings import Sighting
from kafka_reassign_rpc.core.state.partition import Phase
from tests.core.phases.kraft_model import KRaftPartition
from tests.core.phases.test_phases_live_through_all import Happening, Replicas, World

ORIGINAL, TARGET, ORDER = (2, 1), (1, 3), (1, 2)
"""Of a move whose cancel KRaft ends in another order than the original one."""
FORMER, THEIRS = (4, 1), (9, 1)

CRASH, TAKE_OVER, FOREIGN = "crash", "take-over", "foreign writer"


def look(world: World) -> None:
    world.look(0)


def tell(world: World) -> None:
    world.tell()


def catch_up(world: World) -> None:
    world.kraft.catch_up()


def asks(target: Replicas | None) -> Happening:
    return lambda world: world.client(target)


def is_sick(world: World) -> None:
    """One replica is out of sync: what only takes replicas away does not end at once, either."""
    world.kraft.isr = world.kraft.isr[:1]


NEVER = {(Phase.MOVING, Sighting.FORMER), (Phase.MOVING, Sighting.AT_FORMER_TARGET)}
"""What a move in flight has replaced is forgotten once a look has found it in flight: it has no former target."""

MOVE = [asks(TARGET), tell, look]
REPLACED = [asks(FORMER), tell, look, asks(TARGET)]
CANCEL = [asks(None), tell, look, look, tell, look, look]
PATHS: list[list[Happening]] = [
    [*MOVE, catch_up, look, look],
    [*MOVE, *CANCEL],
    [asks(TARGET), *CANCEL],
    [*REPLACED, tell, look, *CANCEL],
    [*REPLACED, tell, look, asks(None), tell, look, is_sick, look, tell, look, look],
    [*REPLACED, look, look, tell, look, catch_up, look, look],
    [*REPLACED, catch_up, look, look, tell, look],
    [*REPLACED, asks(None), look, tell, look, look, tell, look, look],
    [asks(ORDER), tell, look, look],
]


def crash(world: World) -> None:
    """What the server was about to send never leaves it."""
    world.crash()
    world.in_the_air = None


def take_over(world: World) -> None:
    """What the former server was about to send arrives later."""
    world.crash()


def take_over_at_once(world: World) -> None:
    world.crash()
    world.arrive()


def nothing(_: World) -> None:
    pass


def writes(target: Replicas | None) -> Happening:
    return lambda world: world.foreign(target)


def writes_and_ends(target: Replicas) -> Happening:
    def by_others(world: World) -> None:
        world.foreign(target)
        catch_up(world)

    return by_others


def delete(world: World) -> None:
    world.is_deleted = True


WRITES: list[Happening] = [
    delete,
    *map(writes, (None, THEIRS, TARGET, FORMER, ORIGINAL, ORDER)),
    *map(writes_and_ends, (THEIRS, TARGET, FORMER)),
]
"""Of somebody else, whose move may have ended before the next look."""


def between() -> Iterator[tuple[str, list[Happening]]]:
    for before in (nothing, catch_up, *WRITES):
        yield CRASH, [before, crash]
        yield TAKE_OVER, [before, take_over]
        yield TAKE_OVER, [before, take_over_at_once]
    for one in WRITES:
        yield FOREIGN, [one]


def histories() -> Iterator[World]:
    for path in PATHS:
        for place in range(1, len(path) + 1):
            for kind, happened in between():
                world = World()
                world.kraft = KRaftPartition(*ORIGINAL)
                world.look(0)
                for step in path[:place]:
                    step(world)
                world.since = kind
                for one in happened:
                    one(world)
                world.look(0)
                world.since = ""
                for step in path[place:]:
                    step(world)
                world.come_to_rest()
                world.check()
                yield world


def test_kr_6_and_kr_8_each_row_of_the_phases_holds_after_a_crash_a_take_over_and_a_foreign_write() -> None:
    met = {row for world in histories() for row in world.met}
    rows = {(phase, sighting) for phase in TABLE for sighting in Sighting} - NEVER
    for kind in (CRASH, TAKE_OVER, FOREIGN):
        left_out = sorted(row for row in rows if (kind, *row) not in met)
        assert not left_out, f"after a {kind}"
    assert NEVER.isdisjoint(row[1:] for row in met)
