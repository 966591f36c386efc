"""Which log dirs of a registered broker count as failed, and when another failure begins its own clock."""

from kafka_reassign_rpc.core.healing.failed_brokers import DescribedLogDirs, described_now, is_another, recorded
from kafka_reassign_rpc.core.state.broker import FailedLogDirs
from tests.core.build import broker
from tests.tables import for_each

KNOWN = FailedLogDirs(5, ("/a", "/b"))


def test_dh_3_what_a_broker_said_under_a_former_registration_is_not_believed() -> None:
    live = {one: broker(one, epoch=10) for one in (1, 2, 3)}
    said = {
        1: DescribedLogDirs(10, ("/a",)),
        2: DescribedLogDirs(9, ("/a",)),
        3: DescribedLogDirs(10, None),
        4: DescribedLogDirs(10, ()),
    }
    assert described_now(said, live) == {1: ("/a",), 3: None}


@for_each(
    ("failed", "is_repaired", "expected"),
    [
        (None, False, False),
        ((), False, False),
        (("/a",), False, False),
        (("/a", "/c"), False, False),
        (("/c",), False, True),
        (("/a",), True, False),
        (("/a", "/c"), True, True),
    ],
)
def test_dh_3_another_log_dir_has_failed_where_none_of_the_known_has_or_besides_those_that_are_repaired(
    failed: tuple[str, ...] | None, is_repaired: bool, expected: bool
) -> None:
    assert is_another(KNOWN, failed, is_repaired=is_repaired) == expected
    assert not is_another(FailedLogDirs(5), failed, is_repaired=is_repaired), "it has not named them yet"


def test_dh_3_paths_that_are_known_stay_where_a_broker_names_none() -> None:
    assert recorded(7, ("/c",), KNOWN) == FailedLogDirs(7, ("/c",))
    for silent in (None, ()):
        assert recorded(7, silent, KNOWN) == FailedLogDirs(7, ("/a", "/b"))
        assert recorded(7, silent, None) == FailedLogDirs(7)
