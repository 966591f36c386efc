"""Which producer ids may have been given out."""

from kafka_reassign_rpc.controller.duties.producer_ids import first_free, is_set_back


def test_sv_4_the_writes_of_the_znode_count_where_it_says_less() -> None:
    assert [first_free(None, 0), first_free(999, 1), first_free(4999, 1)] == [0, 1000, 5000]
    assert [first_free(None, 3), first_free(999, 3)] == [3000, 3000]
    assert [is_set_back(None, 0), is_set_back(1999, 2), is_set_back(1999, 3), is_set_back(1999, 4)] == [
        *(False, False, False),  # once it is repaired
        True,
    ]
