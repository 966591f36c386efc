"""Which cluster-wide configs are named as harmful, of all that are set."""

from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers
from kafka_reassign_rpc.core.restarts.ending_values import troubles
from tests.tables import for_each

LOCAL, WHOLE = "log.local.retention.ms", "log.retention.ms"
MIN_LAG, MAX_LAG = "log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"
HUGE = "999999999999"


@for_each(
    ("defaults", "named"),
    [
        ({}, []),
        ({LOCAL: "5", WHOLE: "6"}, []),
        ({LOCAL: "6", WHOLE: "6"}, []),
        ({"log.local.retention.bytes": "9", "log.retention.bytes": "9"}, []),
        ({"log.cleaner.threads": "1"}, []),
        ({"max.connections": "1", "max.connection.creation.rate": "1"}, []),
        ({LOCAL: HUGE}, [[LOCAL]]),
        ({LOCAL: HUGE, WHOLE: "-1"}, []),
        ({LOCAL: "800000000", WHOLE: "900000000", "max.connections": "0"}, [["max.connections"]]),
        (
            {"max.connections": "0", "log.roll.ms": "0", "log.segment.bytes": "2000"},
            [["max.connections"], ["log.roll.ms"]],
        ),
        ({MIN_LAG: "10", MAX_LAG: "5", "log.roll.ms": "5"}, [[MAX_LAG, MIN_LAG]]),
        ({"log.cleaner.threads": "0"}, [["log.cleaner.threads"]]),
        ({"log.roll.ms": "soon", "max.connections.per.ip": "0"}, [["log.roll.ms"], ["max.connections.per.ip"]]),
        ({"listener.name.in.max.connections": "0"}, [["listener.name.in.max.connections"]]),
        ({"listener.name.other.max.connections": "0"}, []),
        ({"metric.reporters": "com.example.Known", "of.a.plugin": "x"}, []),
    ],
)
def test_hm_1_of_the_cluster_wide_configs_those_are_named_without_which_there_is_no_harm(
    defaults: dict[str, str], named: list[list[str]]
) -> None:
    broker = ConfigLayers(static={"listeners": "OUT://:1, IN://:2"})
    found = [list(names) for names, _ in troubles(defaults, {1: broker, 2: broker})]
    assert sorted(found) == sorted(named)


def test_hm_1_what_a_broker_was_started_with_and_its_own_configs_count() -> None:
    keeps_all, keeps_own = ConfigLayers(static={WHOLE: "-1"}), ConfigLayers(own={LOCAL: "5"})
    assert list(troubles({LOCAL: HUGE}, {1: keeps_all, 2: keeps_own})) == []
    [(names, harm)] = troubles({LOCAL: HUGE}, {1: keeps_all, 2: keeps_own, 3: ConfigLayers(), 4: ConfigLayers()})
    assert list(names) == [LOCAL]
    assert harm.startswith("brokers such as 3 (2 of 4) cannot apply the cluster-wide configs")


def test_hm_1_without_a_broker_whose_configs_are_known_only_what_all_leave_out_is_named() -> None:
    assert [list(names) for names, _ in troubles({"max.connections": "0", "broker.id": "7"}, {})] == [["broker.id"]]


def test_hm_1_harm_of_a_brokers_own_configs_is_not_blamed_on_the_cluster_wide_ones() -> None:
    assert list(troubles({"log.roll.ms": "5"}, {1: ConfigLayers(own={"max.connections.per.ip": "0"})})) == []
