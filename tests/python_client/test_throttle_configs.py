"""L01, L02: the client computes throttle configs as the stock tool does."""

from kafka_reassign_rpc.client import PartitionReassignment, TopicPartition, throttle_configs
from kafka_reassign_rpc.client.throttle_configs import PartitionMove

FOO, BAR, QUUX = TopicPartition("foo", 0), TopicPartition("bar", 0), TopicPartition("quux", 1)
IN_FLIGHT = {
    FOO: PartitionReassignment((1, 2, 3, 4), (4,), (1,)),
    QUUX: PartitionReassignment((4, 5, 6, 1, 2, 3), (4, 5, 6), (1, 2, 3)),
}


def test_236_11_sources_are_the_old_replicas_and_destinations_what_is_new() -> None:
    found = throttle_configs.all_moves(IN_FLIGHT, {FOO: (2, 5), BAR: (3, 1, 4)}, {FOO: (1, 2, 3, 4), BAR: (1, 2)})
    assert found == {
        "foo": {0: PartitionMove(frozenset({1, 2, 3}), frozenset({5}))},
        "bar": {0: PartitionMove(frozenset({1, 2}), frozenset({3, 4}))},
        "quux": {1: PartitionMove(frozenset({1, 2, 3}), frozenset({4, 5, 6}))},
    }


def test_236_11_the_lists_name_sources_and_destinations_in_the_order_of_their_texts() -> None:
    found = throttle_configs.topic_lists(
        {
            "t": {
                2: PartitionMove(frozenset({10, 9}), frozenset({11})),
                10: PartitionMove(frozenset({1}), frozenset({1, 2})),
            }
        }
    )
    assert found == {
        (2, "t"): {
            "leader.replication.throttled.replicas": "10:1,2:10,2:9",
            "follower.replication.throttled.replicas": "10:2,2:11",
        }
    }


def test_236_11_every_broker_that_sends_or_receives_gets_both_rates() -> None:
    brokers = throttle_configs.brokers({"t": {0: PartitionMove(frozenset({10, 2}), frozenset({3}))}})
    assert brokers == [2, 3, 10]
    assert throttle_configs.rates([2], 5000) == {
        (4, "2"): {
            "leader.replication.throttled.rate": "5000",
            "follower.replication.throttled.rate": "5000",
        }
    }
    assert throttle_configs.log_dir_rates([2], 7) == {(4, "2"): {"replica.alter.log.dirs.io.max.bytes.per.second": "7"}}


def test_236_11_taking_away_deletes_three_keys_of_brokers_and_two_of_topics() -> None:
    assert [len(configs) for configs in throttle_configs.no_broker_throttles([1, 2]).values()] == [3, 3]
    assert [set(configs.values()) for configs in throttle_configs.no_topic_throttles(["t"]).values()] == [{None}]


def test_236_11_what_moves_of_others_are_throttled_by_is_not_taken_away() -> None:
    leaders, followers = throttle_configs.TOPIC_THROTTLES
    configs = {
        "foo": {leaders: "0:1, 0:2,7:9,nonsense", followers: "7:8", "retention.ms": "1"},
        "quux": {leaders: "1:1", followers: "*"},
    }
    found = throttle_configs.throttles_in_use(IN_FLIGHT, configs)
    assert found.brokers == {1, 2} | {1, 2, 3, 4, 5, 6}
    assert throttle_configs.no_topic_throttles(["foo", "quux", "bar"], found) == {
        (2, "foo"): {leaders: "0:1,0:2", followers: None},
        (2, "quux"): {leaders: "1:1", followers: "*"},
        (2, "bar"): {leaders: None, followers: None},
    }
    assert throttle_configs.throttles_in_use({FOO: IN_FLIGHT[FOO]}, configs).brokers == {1, 2}
    assert (
        throttle_configs.throttles_in_use(IN_FLIGHT, {}).brokers
        == throttle_configs.throttles_in_use({}, {}).brokers
        == set()
    )
