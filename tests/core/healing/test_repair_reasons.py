"""The reason of a repair says which brokers it is for, and is read again after a take-over."""

from kafka_reassign_rpc.core.healing.repair_targets import lost_in_part, repair_reason, repaired_brokers
from tests.tables import for_each


@for_each(
    "brokers, log_dirs_of, reason",
    [
        ([3], [], "heal broker 3"),
        ([3, 5], [], "heal brokers 3, 5"),
        ([], [7], "heal log dirs of broker 7"),
        ([3], [7, 8], "heal broker 3 and log dirs of brokers 7, 8"),
    ],
)
def test_dh_1_a_reason_of_a_repair_names_its_brokers_and_gives_them_back(
    brokers: list[int], log_dirs_of: list[int], reason: str
) -> None:
    assert repair_reason(brokers, log_dirs_of) == reason
    assert repaired_brokers(reason, ()) == {*brokers, *log_dirs_of}
    assert repaired_brokers(reason, (3, 9)) == {*brokers, *log_dirs_of} - {3}, (
        "a broker in the target keeps its replica"
    )
    assert lost_in_part(reason) == {*log_dirs_of}


@for_each("reason", ["", "plan 7", "heal broker x", "heal broker 3 and more"])
def test_dh_1_another_reason_names_no_broker(reason: str) -> None:
    assert repaired_brokers(reason, ()) == set()
    assert lost_in_part(reason) == frozenset()
