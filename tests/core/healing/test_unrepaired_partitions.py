"""What is reported of partitions that repairs leave as they are: few lines, however many there are."""

from kafka_reassign_rpc.core.healing.self_healing_status import REASONS, UnrepairedPartition, impossible_texts
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


def left(**counts: int) -> dict[TopicPartition, UnrepairedPartition]:
    """So many partitions by reason, the last by name first."""
    return {
        TopicPartition(reason, index): UnrepairedPartition(frozenset({8}), f"because of {reason}")
        for reason, count in counts.items()
        for index in reversed(range(count))
    }


def test_46_6_partitions_that_cannot_be_repaired_are_reported_by_reason_the_most_frequent_first() -> None:
    assert [*impossible_texts(left(a=1, b=4))] == [
        "4 partitions stay as they are (b-0, b-1, b-2 …): because of b",
        "1 partition stays as it is (a-0): because of a",
    ]
    assert [*impossible_texts({})] == []


def test_46_6_beyond_a_few_reasons_the_others_are_one_line() -> None:
    texts = [*impossible_texts(left(**{f"r{number}": 9 - number for number in range(REASONS + 2)}))]
    assert len(texts) == REASONS + 1
    assert texts[0].startswith("9 partitions stay as they are (r0-0, ")
    assert texts[-1] == "7 partitions stay as they are (r5-0, r5-1, r5-2 …) for other reasons"
