"""Where long work yields."""

from kafka_reassign_rpc.support.slices import SliceCounter, in_slices


def test_the_last_item_of_each_slice_is_marked() -> None:
    assert list(in_slices("abcde", 2)) == [("a", False), ("b", True), ("c", False), ("d", True), ("e", False)]


def test_a_counter_counts_over_several_loops() -> None:
    counter = SliceCounter(3)
    assert [counter.step() for _ in range(2)] + [counter.step() for _ in range(4)] == [
        False, False, True, False, False, True
    ]  # fmt: skip
