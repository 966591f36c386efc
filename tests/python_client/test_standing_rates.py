"""Which rate holds while moves have a throttle lease, for whom and why, by hand-made cases (fg-4)."""

import time
from collections.abc import Iterable, Sequence

import pytest

from kafka_reassign_rpc.client import KafkaError, Unreachable, UnsupportedHere
from kafka_reassign_rpc.client.config_calls import BROKER, Config
from kafka_reassign_rpc.client.standing_rates import leased_rates, rates_after, standing_rates
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.core.status.broker_documents import BrokerState, ControllerState
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, RateInForce
from kafka_reassign_rpc.core.throttling.standing_rates import lease_lines, stricter_document

OF_BROKER, OF_ALL, STATIC = 2, 3, 4
BOTH = (LEADER_RATE, FOLLOWER_RATE)
UNTIL = "while the reassignments need it: the controller takes it away then"
NO_LIMIT = "and a lease relaxes no limit"


def rates(source: int, rate: str, names: Sequence[str] = BOTH) -> list[Config]:
    return [Config(name, rate, source) for name in names]


class Cluster:
    """Takes the place of the client. A stock broker shows the defaults among its own configs, as here."""

    def __init__(self) -> None:
        self.default: list[Config] | KafkaError = []
        self.own: dict[int, list[Config] | KafkaError] = {}
        self.leased: dict[int, int] = {}
        self.has_leases = True

    def describe_configs(self, asked: Sequence[tuple[int, str]]) -> dict[tuple[int, str], list[Config] | KafkaError]:
        assert asked == [(BROKER, "")]
        return {asked[0]: self.default}

    def describe_broker_configs(
        self, brokers: Iterable[int], *, timeout_ms: int
    ) -> dict[int, list[Config] | KafkaError]:
        assert timeout_ms <= 5_000
        shown = [] if isinstance(self.default, KafkaError) else self.default
        return {broker: self.own.get(broker, shown) for broker in brokers}

    def controller_state(self) -> ControllerState:
        if not self.has_leases:
            raise UnsupportedHere("no")
        return ControllerState("1", 1, 0, {broker: BrokerState(rate) for broker, rate in self.leased.items()})

    def lines(self, lease: int, *brokers: int) -> list[str]:
        return list(lease_lines(lease, standing_rates(self, brokers), brokers))  # type: ignore[arg-type]


def test_fg_4_a_lease_holds_where_nothing_stricter_is_set() -> None:
    cluster = Cluster()
    cluster.own[1] = rates(OF_BROKER, "50000000")
    assert cluster.lines(20_000_000, 1, 2) == [f"The inter-broker throttle limit is 20000000 B/s {UNTIL}"]


def test_fg_4_a_stricter_rate_of_all_brokers_holds_and_the_command_says_for_whom_why_and_how_to_lift_it() -> None:
    cluster = Cluster()
    cluster.default = rates(OF_ALL, "5000000")
    assert cluster.lines(20_000_000, 2, 1) == [
        f"On brokers 1,2 it stays 5000000 B/s: the dynamic config of all brokers is stricter, {NO_LIMIT}."
        " To lift it for them: --lift-stricter"
    ]
    standing = standing_rates(cluster, [1, 2])  # type: ignore[arg-type]
    assert list(lease_lines(20_000_000, standing, [1, 2], lifts=True)) == [
        f"The inter-broker throttle limit is 20000000 B/s {UNTIL}",
        "Lifted until then: 5000000 B/s on brokers 1,2 (the dynamic config of all brokers)",
    ]
    assert stricter_document(20_000_000, standing, lifts=True) == []
    assert standing.lowest(1, LEADER_RATE, 20_000_000, lifts=True) == 20_000_000
    assert cluster.lines(5_000_000, 1) == [f"The inter-broker throttle limit is 5000000 B/s {UNTIL}"], "not stricter"


def test_fg_4_the_own_config_of_a_broker_takes_the_place_of_that_of_all() -> None:
    """Kafka's BrokerConfigHandler: also where it is the higher one."""
    cluster = Cluster()
    cluster.default = rates(OF_ALL, "5000000")
    cluster.own = {1: rates(OF_BROKER, "9000000"), 2: [*rates(OF_BROKER, "7", [FOLLOWER_RATE]), *cluster.default]}
    found = cluster.lines(8_000_000, 1, 2, 3)
    assert found[0] == f"The inter-broker throttle limit is 8000000 B/s on broker 1 {UNTIL}"
    assert [line.partition(":")[0] for line in found[1:]] == [
        "On broker 2 it stays 5000000 B/s to send and 7 B/s to receive",
        "On broker 3 it stays 5000000 B/s",
    ]
    assert ": its own dynamic config and the dynamic config of all brokers are stricter, " in found[1]


def test_fg_4_server_properties_limit_nothing() -> None:
    cluster = Cluster()
    cluster.own[1] = rates(STATIC, "1")
    assert cluster.lines(20, 1) == [f"The inter-broker throttle limit is 20 B/s {UNTIL}"]


def test_fg_4_a_stricter_lease_of_other_moves_is_named_and_no_text_says_to_delete_it() -> None:
    cluster = Cluster()
    cluster.own[1], cluster.leased[1] = rates(OF_BROKER, "5"), 5
    assert cluster.lines(20, 1) == [f"On broker 1 it stays 5 B/s: the lease of other moves is stricter, {NO_LIMIT}"]
    standing = standing_rates(cluster, [1])  # type: ignore[arg-type]
    assert list(lease_lines(20, standing, [1], lifts=True)) == cluster.lines(20, 1)


@pytest.mark.parametrize("unknown", ["default", "broker", "state"])
def test_fg_4_what_cannot_be_read_is_not_known(unknown: str) -> None:
    cluster = Cluster()
    if unknown == "default":
        cluster.default = ClusterAuthorizationFailed("no.")
    elif unknown == "broker":
        cluster.own[2] = Unreachable("no.")
    else:
        cluster.controller_state = _refuse  # type: ignore[method-assign]
    last = cluster.lines(20, 1, 2)[-1]
    assert last == "Which limit holds on broker 2 is not known, at most 20 B/s: no."
    documents = stricter_document(20, standing_rates(cluster, [1, 2]))  # type: ignore[arg-type]
    assert documents[-1] == {"broker": 2, "side": None, "rate": None, "by": None}


def _refuse() -> ControllerState:
    raise ClusterAuthorizationFailed("no.")


def test_fg_4_programs_get_the_rates_that_go_on() -> None:
    cluster = Cluster()
    cluster.own[1] = rates(OF_BROKER, "5", [LEADER_RATE])
    assert stricter_document(20, standing_rates(cluster, [1])) == [  # type: ignore[arg-type]
        {"broker": 1, "side": "send", "rate": 5, "by": "config"}
    ]


def test_fg_4_a_former_lease_that_brokers_still_follow_is_no_limit_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers learn of another lease a moment after the controller."""
    cluster = Cluster()
    cluster.own[1], cluster.leased[1] = rates(OF_BROKER, "1"), 1
    former = leased_rates(cluster)  # type: ignore[arg-type]
    cluster.leased[1], pauses = 20, 0

    def learn(_seconds: float) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 2:
            cluster.own[1] = rates(OF_BROKER, "5")

    monkeypatch.setattr(time, "sleep", learn)
    found = rates_after(cluster, [1], former, 20)  # type: ignore[arg-type]
    assert (pauses, found.held(20)[1][LEADER_RATE]) == (2, RateInForce(5, "config"))
    monkeypatch.setattr(time, "monotonic", iter((0.0, 1.0, 9.0)).__next__)
    cluster.own[1] = rates(OF_BROKER, "1")
    assert rates_after(cluster, [1], former, 20).held(20)[1][LEADER_RATE] == RateInForce(1, "config"), "after all"  # type: ignore[arg-type]
    assert pauses == 3
