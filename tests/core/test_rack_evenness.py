"""How evenly replicas are spread over racks, before and after a change."""

from kafka_reassign_rpc.core.rack_evenness import count_by_rack, fewer_or_less_even, is_as_even
from tests.tables import for_each

RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}


def test_dp_8_a_broker_without_a_known_rack_counts_for_none() -> None:
    assert count_by_rack([1, 2, 3, 9], RACKS) == {"a": 2, "b": 1}


@for_each(
    ("after", "before", "expected"),
    [
        ([2, 1], [2, 1], True),
        ([2, 1], [3], True),
        ([3], [2, 1], False),
        ([2, 2], [2, 1, 1], False),
        ([1], [3], True),
    ],
)
def test_dp_8_racks_are_as_even_where_the_fullest_have_no_more_than_before(
    after: list[int], before: list[int], expected: bool
) -> None:
    assert is_as_even(after, before) == expected


@for_each(
    ("before", "after", "expected"),
    [
        ([1, 3], [1, 2], "fewer_racks"),
        ([1, 3], [2, 4], ""),
        ([1, 2], [3, 4], ""),
        ([1, 3, 5], [1, 3], ""),
        ([1, 3, 5], [1], ""),
        ([1, 2, 3, 4], [1, 2, 3, 5], ""),
        ([1, 2, 3, 4], [1, 2, 9, 3], ""),
        ([1, 2, 3, 5], [1, 2, 3, 4], "fewer_racks"),
        ([1, 1, 3, 3], [1, 1, 1, 3], "less_even"),
    ],
)
def test_dp_8_a_change_to_fewer_racks_or_to_less_even_ones_is_named_and_fewer_replicas_alone_are_not(
    before: list[int], after: list[int], expected: str
) -> None:
    assert fewer_or_less_even(before, after, RACKS) == expected
