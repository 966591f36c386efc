"""What a request asks of partitions."""

from kafka_reassign_rpc.core.state.topic_partition import ask


def test_a16_a_partition_that_is_named_twice_counts_once_with_what_is_asked_of_it_last() -> None:
    wanted: dict[str, dict[int, str]] = {}
    pauses = [
        pause
        for topic, partitions in (("t", [(1, "a"), (0, "b"), (1, "c")]), ("u", []), ("t", [(0, "d"), (2, "e")]))
        for pause in ask(wanted, topic, partitions)
    ]
    assert wanted == {"t": {1: "c", 0: "d", 2: "e"}, "u": {}}
    assert list(wanted["t"]) == [1, 0, 2], "in the order of the request"
    assert len(pauses) == 8, "after each partition, and after each topic: there may be many without partitions"
