"""What the controller answers about brokers: leased rates and controlled shutdowns."""

from kafka_reassign_rpc.core.config_values import MOST_BROKERS
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.throttle_leases import Lease
from kafka_reassign_rpc.core.status.broker_documents import BrokerState, broker_states
from kafka_reassign_rpc.core.writers.facts import ShutdownAsked
from tests.core.build import learn


def test_sv_11_brokers_with_a_lease_or_in_controlled_shutdown_are_listed_by_id_and_no_others() -> None:
    cluster = Cluster()
    cluster.brokers = {broker: Broker(broker, 1, ()) for broker in (1, 2, 3, 9)}
    learn(cluster, ShutdownAsked(9, -1))
    learn(cluster, ShutdownAsked(1, -1))
    cluster.leases.put("t", 0, Lease(500, (1,), (2,)))
    cluster.leases.put("t", 1, Lease(400, (2,), ()))
    told = {1: BrokerState(500, True), 2: BrokerState(400), 9: BrokerState(None, True)}
    assert list(broker_states(cluster).items()) == list(told.items()), "the lowest lease decides"


def test_sv_11_the_states_of_brokers_are_bounded() -> None:
    cluster = Cluster()
    cluster.leases.put("t", 0, Lease(0, tuple(range(MOST_BROKERS)), (MOST_BROKERS,)))
    found = broker_states(cluster)
    assert list(found) == list(range(MOST_BROKERS))
    assert set(found.values()) == {BrokerState(0)}, "a lease of nothing is one"
