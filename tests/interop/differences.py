"""The intended differences from stock Kafka 3.9.1, one by one. Any other difference is a defect.

The session (session.py) does not record what the protocol does not promise: the order of topics and partitions in an
answer (stock: hash order; ours: as asked), the order and type of a collection printed in a message, topic ids, and how
far a leader epoch rises at each step (stock writes some states twice). It checks that a leader epoch never falls.
"""

from kafka_reassign_rpc.core.restrictions import FORBIDDEN_BY_REQUEST

from .comparing import ABSENT, Difference

_ORDER = "455-7: a cancel restores the order that stood before the move; stock keeps the order of the union"
_CANCEL_GUARD = "455-8, E08: no cancel may leave only replicas that are not in sync; KRaft refuses it, and so do we"
_LIVE_LEADER = (
    "455-8, 236-9, D08: a leader leads on until the move is over, as in KRaft; stock drops it, and elects nobody until"
    " the move ends, which it cannot"
)
_BACK = "it is back, with a log that nobody asks for any more"
_MISSED = (
    "sv-4: a broker that returns deletes the replicas that it has lost meanwhile; stock leaves their logs, and a broker"
    " that has kept its memory goes on as their leader"
)
_GUARD = "860-1, 860-2: version 1 is served; stock 3.9 has version 0 only"

WANTED: tuple[Difference, ...] = (
    *(
        Difference(scenario, label, f"t.{index}.logs", logs, ABSENT, _MISSED)
        for scenario, label, index, logs in (
            ("b10_a_current_replica_that_has_gone_may_stay", _BACK, 0, [1, 2, 5]),
            ("b10_a_current_replica_that_has_gone_may_stay", _BACK, 1, [1, 2, 5]),
            ("d05_e10_an_adding_broker_dies", "moved", 0, [3, 4, 5]),
            ("d05_e10_an_adding_broker_dies", "moved", 1, [1, 2, 5]),
            ("h06_the_leader_dies_in_flight", _BACK, 0, [3, 4, 5]),
            ("h09_a_frozen_broker", "moved to it", 0, [3, 4, 5]),
            ("h11_two_brokers_go", "all is back", 1, [1, 4, 5]),
        )
    ),
    *(
        Difference("e06_the_order_after_a_cancel", "cancelled", place, stock, [1, 2, 3], _ORDER)
        for place, stock in (("t.0.replicas", [3, 2, 1]), ("t.1.replicas", [3, 1, 2]))
    ),
    *(
        Difference("g04_the_target_is_a_replica_that_has_gone", label, "t.1.replicas", [5, 1], [1, 5], _ORDER)
        for label in ("one waits", "moved")
    ),
    *(
        Difference(scenario, label, place, stock, ours, _CANCEL_GUARD)
        for scenario in (
            "e08_only_adding_replicas_are_in_sync",
            "e09_only_adding_replicas_are_in_sync_and_unclean_elections_are_allowed",
        )
        for label, place, stock, ours in (
            ("cancel", "answers[0][2]", 0, 39),
            (
                "cancel",
                "answers[0][3]",
                None,
                "Unable to revert partition assignment for t:0 because it would require an unclean leader election.",
            ),
            *(
                (label, f"t.0.{place}", stock, ours)
                for label in ("after the cancel", "the original replica is back")
                for place, stock, ours in (
                    ("leader", -1, 4),
                    ("replicas", [5], [4, 3, 5]),
                    ("adding", ABSENT, [4, 3]),
                    ("removing", ABSENT, [5]),
                )
            ),
            ("the original replica is back", "t.0.isr", [4], [4, 5]),
        )
    ),
    *(
        Difference(
            "d08_a_new_target_drops_the_adding_replica_that_leads", "in flight", place, stock, ours, _LIVE_LEADER
        )
        for place, stock, ours in (
            ("t.0.leader", -1, 4),
            ("t.0.isr", [2], [2, 4]),
            ("t.0.replicas", [2, 3], [2, 3, 4]),
            ("t.0.removing", ABSENT, [4]),
        )
    ),
    *(
        Difference(
            "k01_to_k09_version_1",
            f"allowed: {allow}",
            "",
            "closed",
            [
                allow,
                [
                    [
                        0,
                        *(
                            (0, None)
                            if allow
                            else (38, f"The replication factor is changed from 3 to 4, which {FORBIDDEN_BY_REQUEST}")
                        ),
                    ],
                    [1, 0, None],
                    [2, 39, "Empty replica list specified in partition reassignment."],
                    [9, 3, "The partition does not exist."],
                ],
            ],
            _GUARD,
        )
        for allow in (False, True)
    ),
    Difference(
        "o01_throttled_replicas_of_a_topic",
        "an unknown operation",
        "[0]",
        [-1, None],
        [42, "Unknown operations type 7"],
        "stock meets an exception of its own and says UNKNOWN_SERVER_ERROR",
    ),
    Difference(
        "o03_what_describe_shows",
        "refused",
        "[0][1]",
        "",
        "This server does not host this topic-partition.",
        "stock leaves the message empty",
    ),
    Difference(
        "p01_topics_that_are_refused",
        "a broker twice",
        "[0][2]",
        "Duplicate replica assignment found: HashMap(0 -> (1, 1))",
        "Duplicate replica assignment found: partition 0 has 1, 1",
        "stock prints a map as Scala does",
    ),
    *(
        Difference(
            "p01_topics_that_are_refused",
            "an empty assignment",
            f"[0][{index}]",
            stock,
            ours,
            "stock creates a topic that can never have a leader, and waits for one until the request times out",
        )
        for index, stock, ours in ((1, 7, 39), (2, None, "The replica lists of the partitions are empty"))
    ),
)


def wanted(scenario: str) -> list[Difference]:
    return [difference for difference in WANTED if difference.scenario == scenario]


_ABSENT_CANCEL = (
    "what does not exist has nothing to cancel, as in ZooKeeper mode; KRaft says UNKNOWN_TOPIC_OR_PARTITION"
)
_TARGET_FIRST = "the target is checked first, as in ZooKeeper mode"
_ONCE = (
    "of a partition that a request names twice the last counts, as in ZooKeeper mode; KRaft takes one after the other"
)
_ORIGINAL = "455-7: a cancel restores the original replicas in their order; KRaft keeps what former targets have added"
_NULL = "the text of no error is empty, as in ZooKeeper mode; KRaft has none"
_KEEPS = (
    "KRaft takes what a move in flight removes for what the next target removes, where that removes nothing itself:"
    " replicas that were asked for are lost. Such a target goes after a cancel"
)
_ENDS = "KRaft never ends a move whose target drops adding replicas and adds none: it is told after a cancel"

IN_FRONT_OF_KRAFT: tuple[Difference, ...] = (
    *(
        Difference(scenario, label, f"answers[{index}][2]", 3, 85, _ABSENT_CANCEL)
        for scenario, label, indexes in (
            ("e01_nothing_to_cancel", "unknown topic and partition", (0, 1)),
            ("a10_good_and_bad_partitions_in_one_alter", "mixed", (1,)),
            ("a13_partitions_that_cannot_exist", "cancels", range(4)),
            ("a14_names_that_no_topic_can_have", "cancels", range(8)),
        )
        for index in indexes
    ),
    *(
        Difference("b05_b06_a_bad_target_of_what_does_not_exist", label, f"answers[{index}][2]", 3, 39, _TARGET_FIRST)
        for label in ("unknown topic, bad targets", "unknown partition, bad targets")
        for index in range(3)
    ),
    *(
        Difference(scenario, label, "answers", [["t", index, code] for code in stock], [["t", index, ours]], _ONCE)
        for scenario, label, index, stock, ours in (
            ("e17_a_cancel_and_then_the_same_again", "the same cancel twice in one request", 0, (0, 0), 0),
            ("a16_the_same_partition_twice_in_one_alter", "the same target twice", 0, (0, 0), 0),
            ("a16_the_same_partition_twice_in_one_alter", "two targets, the later one counts", 0, (0, 0), 0),
            ("a16_the_same_partition_twice_in_one_alter", "a bad one, then a good one", 1, (0, 39), 0),
            ("a16_the_same_partition_twice_in_one_alter", "a good one, then a bad one", 1, (0, 39), 39),
        )
    ),
    *(
        Difference("a16_the_same_partition_twice_in_one_alter", "after all", f"t.1.{place}", stock, ours, _ONCE)
        for place, stock, ours in (("isr", [3, 4], [2, 3]), ("leader", 3, 2), ("replicas", [3, 4], [2, 3]))
    ),
    *(
        Difference(scenario, label, f"t.0.{place}", stock, ours, _ORIGINAL)
        for scenario, label, place, stock, ours in (
            ("e15_after_a_chain_with_one_in_sync", "as before", "isr", [1, 2], [1]),
            ("e15_after_a_chain_with_one_in_sync", "as before", "replicas", [2, 1, 3], [1]),
        )
    ),
    Difference(
        "a05_alter_of_nothing",
        "topics without partitions",
        "",
        [{"name": "nope", "partitions": []}, {"name": "also-not", "partitions": []}],
        [],
        "a topic of which nothing was asked has no answer, as in ZooKeeper mode",
    ),
    *(
        Difference(
            "a12_timeouts_of_a_request",
            "moved",
            f"t.0.{place}",
            stock,
            ours,
            "who allows no time is answered REQUEST_TIMED_OUT; here the move is durable, and goes on",
        )
        for place, stock, ours in (("isr", [1], [2, 4]), ("leader", 1, 2), ("replicas", [1], [2, 4]))
    ),
    *(
        Difference(
            "a21_unknown_tags_and_bytes_after_the_body",
            label,
            "",
            "0000000500000000000000000100",
            "0000000500000000000000010100",
            _NULL,
        )
        for label in ("a tag in the header", "a tag in the body", "bytes after the body")
    ),
    *(
        Difference("d04_a_chain_of_targets", "towards [3]", f"t.0.{place}", stock, ours, _ENDS)
        for place, stock, ours in (
            ("adding", [5], ABSENT),
            ("removing", [1, 2, 4, 5], [1, 2, 4]),
            ("replicas", [3, 1, 2, 4, 5], [3, 1, 2, 4]),
        )
    ),
    *(
        Difference(scenario, label, f"t.0.{place}", stock, ours, _KEEPS)
        for scenario, label, place, stock, ours in (
            ("d09_the_second_target_is_the_union", "nothing to remove any more", "removing", [1, 2], ABSENT),
            ("d09_the_second_target_is_the_union", "four replicas", "isr", [3, 4], [1, 2, 3, 4]),
            ("d09_the_second_target_is_the_union", "four replicas", "leader", 3, 1),
            ("d09_the_second_target_is_the_union", "four replicas", "replicas", [3, 4], [3, 4, 1, 2]),
            ("d10_from_shrinking_to_growing", "in flight", "adding", [5], [4, 5]),
            ("d10_from_shrinking_to_growing", "in flight", "removing", [1, 2], ABSENT),
            ("d10_from_shrinking_to_growing", "still in flight", "removing", [4], ABSENT),
            ("d10_from_shrinking_to_growing", "still in flight", "replicas", [1, 2, 3, 5, 4], [1, 2, 3, 5]),
        )
    ),
)
"""From a cluster in KRaft mode, by way of our service (docs/kraft.md). Texts of errors are not compared."""

NOT_ALIKE_IN_FRONT = {
    "b14_an_internal_topic_is_like_any_other": "it makes a topic that the cluster has: the state log has a coordinator",
    "e05_after_a_second_target": "right after the cancel the original order is still being restored, or is there",
    "a18_a_target_and_a_cancel_of_the_same_partition": "the same",
    "e12_start_again_after_a_cancel": "a third start within a second or two waits for the end of the cancel, refused",
}
"""Scenarios that differ by chance, or cannot run twice."""
