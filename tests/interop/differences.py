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
