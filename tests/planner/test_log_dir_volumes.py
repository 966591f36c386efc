"""Log dirs and their volumes: a volume counts once, whichever log dirs lie on it."""

import pytest

from kafka_reassign_rpc.planner.brokers.log_dir_volumes import (
    WRITTEN_BETWEEN,
    LogDirSpace,
    by_volume,
    known_apart,
    volumes,
)
from kafka_reassign_rpc.planner.planner_cluster import Volume

TB, GB = 10**12, 10**9


def dirs(*free: int, size: int = TB) -> list[LogDirSpace]:
    return [LogDirSpace(f"/d{number}", size, one) for number, one in enumerate(free, 1)]


CASES = [
    ("one dir", dirs(5), (Volume(TB, 5),)),
    ("two volumes of one size", dirs(300 * GB, 500 * GB), (Volume(TB, 300 * GB), Volume(TB, 500 * GB))),
    ("one volume", dirs(300 * GB, 300 * GB), (Volume(TB, 300 * GB),)),
    ("one volume, written to", dirs(300 * GB + WRITTEN_BETWEEN, 300 * GB), (Volume(TB, 300 * GB),)),
    ("a little too far", dirs(300 * GB + WRITTEN_BETWEEN + 1, 300 * GB), None),
    ("two sizes", [*dirs(5), LogDirSpace("/e", 2 * TB, 5)], (Volume(TB, 5), Volume(2 * TB, 5))),
    ("full disks are known", dirs(0), (Volume(TB, 0),)),
]


@pytest.mark.parametrize(("held", "expected"), [one[1:] for one in CASES], ids=[one[0] for one in CASES])
def test_dp_2_a_volume_counts_once_however_many_log_dirs_it_has(
    held: list[LogDirSpace], expected: tuple[Volume, ...] | None
) -> None:
    if expected is None:
        assert len(volumes(held) or ()) == 2
    else:
        assert volumes(held) == expected


def test_dp_2_a_broker_without_a_known_log_dir_has_no_known_volume() -> None:
    assert volumes([]) is None
    assert volumes([*dirs(5), LogDirSpace("/old")]) is None


def test_dp_2_empty_disks_of_one_kind_are_apart_if_other_brokers_show_it() -> None:
    """The new broker's three disks tell the same. /d1 and /d2 differ on broker 1; /d2 and /d3 are one volume there."""
    new, other = dirs(TB, TB, TB), dirs(300 * GB, 500 * GB, 500 * GB)
    assert volumes(new) == (Volume(TB, TB),), "alone, nothing shows that there are several"
    apart = known_apart([new, other])
    assert apart == {("/d1", "/d2"), ("/d1", "/d3")}
    assert [[one.path for one in held] for held in by_volume(new, apart)] == [["/d1"], ["/d2", "/d3"]]
    assert volumes(new, apart) == (Volume(TB, TB), Volume(TB, TB))
    assert volumes(other, apart) == (Volume(TB, 300 * GB), Volume(TB, 500 * GB))
