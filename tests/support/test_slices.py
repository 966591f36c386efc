"""What long work handles piece by piece."""

from typing import Any

import pytest

from kafka_reassign_rpc.support.slices import FREED_AT_ONCE, emptied, pieces


def test_pieces_keep_all_items_in_their_order() -> None:
    assert list(pieces("abcde", 2)) == ["ab", "cd", "e"]
    assert list(pieces("", 2)) == []


@pytest.mark.parametrize("made", [list, set, dict.fromkeys])
def test_sv_6_a_large_collection_is_emptied_piece_by_piece(made: Any) -> None:
    items = made(range(3 * FREED_AT_ONCE + 1))
    left = [len(items) for _ in emptied(items)]
    assert left == [2 * FREED_AT_ONCE + 1, FREED_AT_ONCE + 1, 1, 0, 0]
    assert len([*emptied(*(made(()) for _ in range(100)))]) == 100, "also many that are empty"
