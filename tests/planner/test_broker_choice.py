"""Which rack and broker a new replica gets: by weight, and not all of them where a rack is scarce."""

from collections import Counter

from kafka_reassign_rpc.planner.brokers.broker_choice import BrokerChoice, WeightedBrokers
from kafka_reassign_rpc.planner.brokers.rack_rule import RackRule
from kafka_reassign_rpc.planner.deterministic_random import partition_key, random_bits

RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
KEYS = [random_bits(partition_key("t", index), 7) for index in range(2000)]


def choice(scarce: dict[str, float], room: dict[int, int] | None = None, weight_of_a: float = 1.0) -> BrokerChoice:
    """Brokers 1 and 2 in rack a, and so on; `room`: other than 100 bytes."""
    free = {**dict.fromkeys(RACKS, 100), **(room or {})}
    weights = {broker: weight_of_a if rack == "a" else 1.0 for broker, rack in RACKS.items()}
    by_rack = {
        rack: WeightedBrokers.of({broker: weights[broker] for broker in RACKS if RACKS[broker] == rack})
        for rack in "abc"
    }
    return BrokerChoice(
        by_rack=by_rack,
        rack_weights=WeightedBrokers.of({turn: by_rack[rack].total for turn, rack in enumerate("abc")}),
        rack_names=("a", "b", "c"),
        free_bytes=free,
        rack_room={rack: max(free[broker] for broker in RACKS if RACKS[broker] == rack) for rack in "abc"},
        rack_rule=RackRule(RACKS, dict.fromkeys("abc", 2)),
        scarce=scarce,
    )


def racks(drawn: BrokerChoice, kept: tuple[int, ...] = (), size: int = 10) -> Counter[str]:
    """Where as many replicas go as there are keys."""
    chosen = [drawn.choose(kept, size, key) for key in KEYS]
    return Counter("none" if broker is None else RACKS[broker] for broker in chosen)


def share(of: Counter[str], rack: str) -> float:
    return of[rack] / len(KEYS)


def test_dp_2_racks_get_new_replicas_by_their_weight() -> None:
    even, heavy = racks(choice({})), racks(choice({}, weight_of_a=4.0))
    assert all(abs(share(even, rack) - 1 / 3) < 0.05 for rack in "abc")
    assert abs(share(heavy, "a") - 4 / 6) < 0.05


def test_dp_2_the_first_rack_that_is_drawn_gets_the_replica_if_it_has_room_and_fewest_replicas() -> None:
    """Which one that is depends on the key alone: the same partition gets the same rack, whatever else there is."""
    drawn = choice({})
    for key in KEYS[:100]:
        broker = drawn.choose((), 10, key)
        assert broker is not None
        assert RACKS[broker] == "abc"[drawn.rack_weights.draw(random_bits(key, 0))]


def test_dp_2_of_the_replicas_that_a_scarce_rack_would_get_only_its_share_may_try() -> None:
    assert racks(choice({"a": 0.0}))["a"] == 0
    found = racks(choice({"a": 0.5}))  # half of them may try it, of which a third draws it
    assert abs(share(found, "a") - 1 / 6) < 0.05
    assert abs(share(found, "b") - share(found, "c")) < 0.05


def test_dp_2_a_scarce_rack_gets_a_replica_that_fits_nowhere_else() -> None:
    full = dict.fromkeys((3, 4, 5, 6), 0)
    assert racks(choice({"a": 0.0}, room=full)) == {"a": len(KEYS)}


def test_dp_2_a_rack_without_replicas_of_the_partition_comes_before_one_that_has_some() -> None:
    assert racks(choice({}), kept=(1, 3)) == {"c": len(KEYS)}
    found = racks(choice({}, room={5: 0, 6: 0}), kept=(1, 3))
    assert set(found) == {"a", "b"}, "rack c has no room"
    assert racks(choice({}), size=101) == {"none": len(KEYS)}
