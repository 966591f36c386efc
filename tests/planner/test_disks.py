"""Plans between the log dirs of one broker: they even out what its disks hold, or empty log dirs."""

from random import Random
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.planner.disks.disk_moves import plan_disks
from kafka_reassign_rpc.planner.disks.disk_room import (
    CANNOT_EMPTY,
    NOT_ASKED,
    BrokerDisks,
    DiskDir,
    DiskGoal,
    DiskPlan,
    DiskReplica,
)
from kafka_reassign_rpc.planner.goals_and_options import PlanError

A, B, C = (DiskDir(path, volume=number, size=1000, free=900) for number, path in enumerate(("/a", "/b", "/c")))


def replicas(log_dir: str, *sizes: int, **others: Any) -> list[DiskReplica]:
    return [DiskReplica(log_dir[1:], number, size, log_dir, **others) for number, size in enumerate(sizes)]


def planned(dirs: list[DiskDir], held: list[DiskReplica], copying: Any = (), **goal: Any) -> DiskPlan:
    return plan_disks(1, BrokerDisks(tuple(dirs), tuple(held), copying), DiskGoal(**goal))


def moves(plan: DiskPlan) -> list[tuple[str, int, str]]:
    return [(one.replica.log_dir, one.replica.bytes, one.target) for one in plan.moves]


EVEN = [
    ("a full disk gives to an empty one", [A, B], replicas("/a", 10, 10), {}, [("/a", 10, "/b")]),
    ("of one byte too, and what is empty stays", [A, B], replicas("/a", 0, 1, 1), {}, [("/a", 1, "/b")]),
    ("the largest that fits goes first", [A, B], replicas("/a", 60, 30, 10), {}, [("/a", 30, "/b"), ("/a", 10, "/b")]),
    ("within the tolerance nothing moves", [A, B], [*replicas("/a", 54), *replicas("/b", 46)], {}, []),
    ("so is 44 of 40, whatever floating point makes of it", [A, B, C],
     [*replicas("/a", 40, 4), *replicas("/b", 40), *replicas("/c", 36)], {}, []),
    ("shares follow the sizes", [A, B._replace(size=3000)], replicas("/a", 25, 25, 25, 25), {},
     [("/a", 25, "/b")] * 3),
    ("of disks of unknown size all count alike", [A, B._replace(volume=None, size=-1, free=-1)],
     replicas("/a", 10, 10), {}, [("/a", 10, "/b")]),
    ("log dirs of one volume share it", [A, B._replace(volume=0)], replicas("/a", 10, 10), {}, []),
    ("a cordoned log dir gets none", [A, B._replace(cordoned=True), C], replicas("/a", 10, 10), {},
     [("/a", 10, "/c")]),
    ("an offline one gets none", [A, B._replace(online=False)], replicas("/a", 10, 10), {}, []),
    ("what cannot move stays", [A, B], replicas("/a", 10, 10, stays="in flight"), {}, []),
    ("no more bytes than asked for", [A, B], replicas("/a", 20, 20, 5, 5), {"max_bytes": 12},
     [("/a", 5, "/b"), ("/a", 5, "/b")]),
    ("only what has room", [A, B._replace(free=55)], replicas("/a", 10, 10, 4), {}, [("/a", 4, "/b")]),
    ("what is on its way takes room", [A, B._replace(free=60)], replicas("/a", 10, 10, 4), {"arriving": 6},
     [("/a", 4, "/b")]),
]  # fmt: skip


@pytest.mark.parametrize(("dirs", "held", "goal", "expected"), [one[1:] for one in EVEN], ids=[one[0] for one in EVEN])
def test_dh_3_an_even_plan_moves_what_brings_disks_to_their_shares(
    dirs: list[DiskDir], held: list[DiskReplica], goal: dict[str, Any], expected: list[tuple[str, int, str]]
) -> None:
    assert moves(planned(dirs, held, **goal)) == expected


def test_dh_3_an_emptied_log_dir_gives_all_it_can_and_what_stays_is_named_with_its_reason() -> None:
    held = [*replicas("/a", 60, 30), *replicas("/b", 5), DiskReplica("t", 0, 7, "/a", "in flight")]
    plan = planned([A, B._replace(free=85), C._replace(online=False)], held, empty=frozenset({"/a"}))
    assert moves(plan) == [("/a", 30, "/b")]
    assert [(one.bytes, why) for one, why in plan.left_out] == [(60, CANNOT_EMPTY), (7, "in flight")]


def test_dh_3_an_emptied_log_dir_gives_to_the_emptiest_and_copies_under_way_take_room() -> None:
    held = [*replicas("/a", 40, 30), *replicas("/b", 100)]
    assert moves(planned([A, B, C], held, empty=frozenset({"/a"}))) == [("/a", 40, "/c"), ("/a", 30, "/c")]
    full = planned([A, B, C], held, copying=(("/c", 830),), empty=frozenset({"/a"}))
    assert moves(full) == [("/a", 40, "/b"), ("/a", 30, "/b")]
    unknown = planned([A, B, C._replace(size=-1, free=-1)], replicas("/a", 40, 30), empty=frozenset({"/a"}))
    assert moves(unknown) == [("/a", 40, "/b"), ("/a", 30, "/c")], "where a size is not known, all count alike"


def test_dh_3_replicas_of_topics_that_were_not_asked_for_are_neither_moved_nor_left_out() -> None:
    plan = planned([A, B], replicas("/a", 10, stays=NOT_ASKED), empty=frozenset({"/a"}))
    assert (plan.moves, plan.left_out) == ([], [])


@pytest.mark.parametrize(
    ("dirs", "saying"),
    [
        ([B], "broker 1 has no log dir /a; it has /b"),
        ([A._replace(online=False), B], "/a of broker 1 is offline"),
        ([A, B._replace(online=False)], "broker 1 has no other log dir that may get replicas"),
    ],
)
def test_dh_3_a_log_dir_that_cannot_be_emptied_is_told_in_one_line(dirs: list[DiskDir], saying: str) -> None:
    with pytest.raises(PlanError, match=saying):
        planned(dirs, [], empty=frozenset({"/a"}))


@given(
    st.lists(st.lists(st.integers(0, 300), max_size=8), min_size=2, max_size=4),
    st.lists(st.integers(0, 1000), min_size=4, max_size=4),
    st.lists(st.integers(1000, 9000), min_size=4, max_size=4),
)
def test_dh_3_any_plan_makes_no_disk_worse_and_keeps_within_the_room(
    held: list[list[int]], free: list[int], disks: list[int]
) -> None:
    dirs = [DiskDir(f"/{number}", volume=number, size=disks[number], free=free[number]) for number in range(len(held))]
    found = [one for number, sizes in enumerate(held) for one in replicas(f"/{number}", *sizes)]
    plan = planned(dirs, found)
    assert plan.furthest_after <= plan.furthest_before + 1e-9
    for one in dirs:
        assert sum(move.replica.bytes for move in plan.moves if move.target == one.path) <= max(
            0, one.free - int(one.size * 0.05)
        )
    assert len({move.replica for move in plan.moves}) == len(plan.moves)
    assert all(move.target != move.replica.log_dir for move in plan.moves)


@pytest.mark.long
def test_dh_3_a_broker_with_thousands_of_log_dirs_is_planned_within_seconds() -> None:
    """Its time grows with the number of moves. It was that times the square of the number of log dirs: hours."""
    chance, count = Random(1), 2_000
    dirs = [DiskDir(f"/{number}", volume=number, size=10**12, free=10**12) for number in range(count)]
    held = [
        DiskReplica("t", number, int(chance.lognormvariate(15, 1.5)), f"/{int(count * chance.random() ** 2)}")
        for number in range(10 * count)
    ]
    began = process_time()
    plan = planned(dirs, held, tolerance=0.02)
    assert len(plan.moves) > count
    assert process_time() - began < 100


@pytest.mark.parametrize("empty", [frozenset[str](), frozenset({"/3"})])
def test_dh_3_the_order_in_which_log_dirs_and_replicas_are_told_changes_no_plan(empty: frozenset[str]) -> None:
    chance = Random(216)
    dirs = [DiskDir(f"/{number}", volume=number, size=10**6, free=10**6) for number in range(8)]
    held = [DiskReplica("t", number, chance.randint(1, 30), f"/{number % 4}") for number in range(60)]
    expected = planned(dirs, held, empty=empty)
    assert expected.moves
    for _ in range(20):
        assert planned(chance.sample(dirs, len(dirs)), chance.sample(held, len(held)), empty=empty) == expected
