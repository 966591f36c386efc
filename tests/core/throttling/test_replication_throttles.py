"""The rate that holds on a broker, by every combination of what may be set (fg-4)."""

from kafka_reassign_rpc.core.throttling.replication_throttles import LEADER_RATE, RateInForce, rate_in_force
from tests.tables import for_each


@for_each(
    ("own", "default", "leased", "expected"),
    [
        (None, None, None, None),
        ("7", None, None, RateInForce(7, "config")),
        (None, "5", None, RateInForce(5, "default")),
        ("7", "5", None, RateInForce(7, "config")),
        ("5", "5", None, RateInForce(5, "config")),
        ("5", "5", -1, RateInForce(5, "config")),
        ("7", None, 7, RateInForce(7, "lease")),
        ("5", None, 7, RateInForce(5, "config")),
        ("5", "5", 7, RateInForce(5, "default")),
        ("9", "5", 7, RateInForce(9, "config")),
        ("x", "5", None, RateInForce(5, "default")),
        ("0", None, None, RateInForce(0, "config")),
    ],
)
def test_fg_4_the_rate_that_holds_and_what_has_set_it(
    own: str | None, default: str | None, leased: int | None, expected: RateInForce | None
) -> None:
    of_broker, of_all = ({} if value is None else {LEADER_RATE: value} for value in (own, default))
    assert rate_in_force(LEADER_RATE, of_broker, of_all, leased) == expected
