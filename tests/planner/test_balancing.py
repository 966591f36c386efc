"""What is evened out, and where a plan leaves off."""

from kafka_reassign_rpc.planner.local import Snapshot, plan
from kafka_reassign_rpc.planner.model import Broker, Goal, Kind, Options
from tests.planner.clusters import random_cluster

NEW = (12, 13)


def test_dp_2_new_brokers_get_their_share_and_lead_no_more_than_that() -> None:
    stood = random_cluster(12, 4, 2000)
    cluster = Snapshot([*stood.brokers, *(Broker(n, f"r{n % 4}", True, 10**13) for n in NEW)], stood.topics)
    made = plan(cluster, Goal(Kind.EXPAND, NEW), Options(tolerance=0.1))
    for broker in NEW:
        share = dict(zip(("bytes", "replicas", "leaders"), made.summary.targets[broker], strict=False))
        assert made.summary.after[broker].bytes >= 0.9 * share["bytes"]
        assert made.summary.after[broker].replicas >= 0.9 * share["replicas"]
        assert 0.9 * share["leaders"] <= made.summary.after[broker].leaders <= 1.1 * share["leaders"]
    for move in made.moves:
        assert set(move.target) - set(move.origin), "no move but for a new broker"
        assert set(move.target) - set(move.origin) <= set(NEW)
    assert made.summary.bytes <= 1.2 * made.summary.lower_bound
