"""What a request asks of partitions."""

from kafka_reassign_rpc.core.state.topic_partition import ask


def test_a16_a_partition_that_is_named_twice_counts_once_with_what_is_asked_of_it_last() -> None:
    wanted: dict[str, dict[int, str]] = {}
    for topic, partition, asked in (("t", 1, "a"), ("t", 0, "b"), ("u", 1, "c"), ("t", 1, "d"), ("t", 2, "e")):
        ask(wanted, topic, partition, asked)
    assert wanted == {"t": {1: "d", 0: "b", 2: "e"}, "u": {1: "c"}}
    assert list(wanted["t"]) == [1, 0, 2], "in the order of the request"
