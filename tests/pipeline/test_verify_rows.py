"""What verifying finds in rows, by rule, and the sums that the limits are compared with: worked out by hand."""

from typing import Any

from kafka_reassign_rpc.pipeline.planning.verify_facts import ListedBroker, PlanFacts
from kafka_reassign_rpc.pipeline.planning.verify_sums import BatchSums, BrokerSums, CheckedRows
from tests.pipeline import verified_rows
from tests.tables import for_each

FACTS = PlanFacts.of("rebalance", [ListedBroker(broker, None, True) for broker in (1, 2, 3, 4, 5)], (), None, ())
MOVE = ([1, 2], [3, 2], 1, 10, 1, 2, None, None, None, None)
FORWARD, BACK = (1, [3, 2], [1, 2], None), (1, [1, 2], [3, 2], None)
FINE: dict[str, Any] = {
    "topic": "t",
    "partition": 0,
    "moves": [MOVE],
    "forward": [FORWARD],
    "back": [BACK],
    "left_out": [],
    "replicas": [1, 2],
    "leader": 1,
    "isr": [1, 2],
    "in_flight": False,
    "size": 10,
}
STUCK = ([1, 2], "its reassignment is in flight")
STUCK_AND = {"moves": [], "forward": [], "back": [], "in_flight": True}


def check(*rows: dict[str, Any]) -> CheckedRows:
    return verified_rows.check(FACTS, *(FINE | row for row in rows))


@for_each(
    ("change", "broken"),
    [
        ({}, {}),
        (STUCK_AND, {"forgotten": "[1, 2]"}),
        (STUCK_AND | {"left_out": [STUCK]}, {}),
        (STUCK_AND | {"in_flight": False}, {}),
        ({"moves": []}, dict.fromkeys(["batches", "rollback"], "not in the table, file 1")),
        ({"moves": [MOVE, MOVE]}, {"moved-twice": "2 rows"}),
        ({"forward": []}, {"batches": "batch 1 in the table, in no file"}),
        ({"forward": [FORWARD, FORWARD]}, {"batches": "batch 1 in the table, file 1, 1"}),
        ({"forward": [(2, *FORWARD[1:])]}, {"batches": "batch 1 in the table, file 2"}),
        ({"forward": [(1, [2, 3], [1, 2], None)]}, {"batches": "batch 1 in the table, file 1"}),
        ({"forward": [(1, [3, 2], [2, 1], None)]}, {"batches": "batch 1 in the table, file 1"}),
        ({"forward": [(1, [3, 2], [1, 2], 2)]}, {"batches": "batch 1 in the table, file 1"}),
        ({"back": [(1, [1, 2], [2, 3], None)]}, {"rollback": "batch 1 in the table, file 1"}),
        ({"replicas": [2, 1]}, {"stale": "[1, 2] to [3, 2]"}),
    ],
)  # fmt: skip
def test_dp_3_rows_that_break_rules_are_named_with_what_is_wrong(
    change: dict[str, Any], broken: dict[str, str]
) -> None:
    assert check(change).named == {rule: [("t", 0, detail)] for rule, detail in broken.items()}


def test_dp_3_the_sums_of_batches_and_brokers_are_those_of_their_moves() -> None:
    """In batch 1, 3 gets 10 bytes that 1 sends. In batch 2, 3 and 4 get 20 each, of which 5 sends all."""
    rows = [
        {},
        {"partition": 1, "moves": [([1], [3, 4], 1, 40, 2, 3, 5, None, None, None)], "size": 20},
        {"partition": 2, "moves": [([4, 2], [2, 4], 4, 0, 2, 1, None, None, None, None)], "size": None},
    ]
    once, twice = check(*rows), check(*rows[1:])
    twice.add(check(rows[0]))
    for found in (once, twice):
        assert found.batches == {1: BatchSums(2, 2, 1, 10, 1), 2: BatchSums(1, 3, 2, 40, 1)}
        assert found.brokers == {
            (1, 3): BrokerSums(receives=1, got=10),
            (1, 1): BrokerSums(sends=1, sent=10),
            (2, 3): BrokerSums(receives=1, got=20),
            (2, 4): BrokerSums(receives=1, got=20),
            (2, 5): BrokerSums(sends=1, sent=40),
        }
        assert {broker: sorted(sizes) for broker, sizes in found.arriving.items()} == {3: [10, 20], 4: [20]}


def test_dp_3_only_the_first_rows_that_break_a_rule_are_named() -> None:
    rows = [{"partition": number, "replicas": [2, 1]} for number in range(50)]
    found = check(*rows[25:])
    found.add(check(*rows[:25]))
    assert [partition for _, partition, _ in found.named["stale"]] == list(range(20))
