"""A stock broker that never loads transactions is known from its log, and another one becomes the coordinator."""

from pathlib import Path

from .checks import coordinators
from .facts import Facts, State, Topic
from .relief import orders
from .stock_coordinators import TOPIC, failed_loads

STARTING = "[2026-11-24 09:59:21,170] INFO starting (kafka.server.KafkaServer)\n"


def failed(
    index: int, why: str = "org.apache.zookeeper.KeeperException$SessionExpiredException: KeeperErrorCode"
) -> str:
    task = f"load-txns-for-partition-__transaction_state-{index}"
    return f"ERROR Uncaught exception in scheduled task '{task}' (org.apache.kafka.server.util.KafkaScheduler)\n{why}\n"


def test_sv_4_loads_of_transactions_that_a_broker_gave_up_since_its_start_are_found(tmp_path: Path) -> None:
    contents = {
        1: STARTING + failed(0) + STARTING,
        2: STARTING + failed(0) + STARTING + failed(1) + "\tat kafka.zookeeper\n" + failed(2),
        3: STARTING + failed(0, why="java.lang.NullPointerException"),
    }
    logs = {broker: tmp_path / str(broker) for broker in contents}
    for broker, log in logs.items():
        log.write_text(contents[broker])
    assert failed_loads(logs) == {(2, 1), (2, 2)}


def stuck(replicas: tuple[int, ...], isr: tuple[int, ...], moving: frozenset[int] = frozenset()) -> Facts:
    """Broker 4 leads partition 0, and has given up its load."""
    return Facts(
        topics={TOPIC: Topic("id", {0: replicas}, moving)},
        states={(TOPIC, 0): State(4, isr)},
        unloaded=frozenset({(4, 0), (1, 0)}),
    )


def test_sv_4_another_replica_in_sync_is_to_lead_where_the_coordinator_never_loads_its_transactions() -> None:
    assert orders(stuck((4, 1), (4, 1))) == {(TOPIC, 0): [1, 4]}
    assert orders(stuck((1, 4, 2), (2, 4))) == {(TOPIC, 0): [2, 1, 4]}


def test_sv_4_a_coordinator_stays_while_its_partition_moves_or_no_other_replica_is_in_sync() -> None:
    for facts in (stuck((4, 1), (4, 1), frozenset({0})), stuck((4, 1), (4,))):
        assert orders(facts) == {}
        assert coordinators(facts) == ["broker 4 leads __transaction_state-0, and never loads it"]


def test_sv_4_a_broker_may_have_given_up_a_load_where_it_does_not_lead() -> None:
    facts = Facts(states={(TOPIC, 0): State(2, (2, 4))}, unloaded=frozenset({(4, 0), (4, 1)}))
    assert coordinators(facts) == []
    assert orders(facts) == {}
