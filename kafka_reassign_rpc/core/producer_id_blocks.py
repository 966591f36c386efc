"""Which producer ids may have been given out. Two producers with one id are one to a broker: it refuses records of one,
or takes them for repeated ones.
"""

BLOCK = 1000
"""Ids that are given out together, by Kafka's controllers too (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE)."""


def first_free(last: int | None, writes: int) -> int:
    """The first id that was never given out.

    last     what `/latest_producer_id_block` says; None: nothing yet
    writes   its zkVersion. Each block was one write: as many blocks may have been given out, even if the znode was set
             back
    """
    return max(0 if last is None else last + 1, BLOCK * writes)


def is_set_back(last: int | None, writes: int) -> bool:
    """Whether the znode says less than its writes. One more write than blocks may be a repair by hand."""
    return first_free(last, writes) - first_free(last, 0) > BLOCK
