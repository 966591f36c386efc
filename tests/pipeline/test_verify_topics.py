"""The figures of topics: by hand, and of a plan that spreads topics, which is verified."""

from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.planning.verify_job import verify
from kafka_reassign_rpc.pipeline.planning.verify_sums import topic_shares, topic_spread
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    SUMMARY as SUMMARY_FILE,
)
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BrokerFigures,
    LoadFigures,
    TopicFigures,
)
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.topic_pieces import CallOnSpark
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, GoalWeights, PlanOptions
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from tests.pipeline.plans import SUMMARY
from tests.pipeline.test_plan_in_memory import write_random_snapshot

pytestmark = pytest.mark.gate

NOTHING = LoadFigures()


def test_dp_13_what_is_more_than_even_by_topic_is_counted_topic_by_topic() -> None:
    """Broker 1 weighs as much as 2 and 3 together. Of 8 replicas and 4 leaders it may have 5 and 3, the others 3 and 2;
    of the 2 replicas of u each may have what it has. A broker without a target counts for nothing."""
    brokers = [
        BrokerFigures(n, None, True, None, NOTHING, NOTHING, LoadFigures(replicas=part, leaders=part))
        for n, part in ((1, 10), (2, 5), (3, 5))
    ]
    asked = {"topic_replicas": 1.0, "topic_leaders": 1.0}
    requested = msgspec.structs.replace(SUMMARY.requested, tolerance=0.1, weights=asked)
    shares = topic_shares(msgspec.structs.replace(SUMMARY, kind="rebalance", brokers=brokers, requested=requested))
    topics, replicas = np.array([0, 0, 0, 0, 1]), np.array([[2, 1]] * 4 + [[3, 9]])
    assert topic_spread(topics, replicas, shares).above == {"replicas": 1, "leaders": 2}
    assert topic_spread(topics, replicas, {"leaders": shares["leaders"]}).above == {"leaders": 2}
    assert topic_spread(topics[:0], replicas[:0], shares).above == {"replicas": 0, "leaders": 0}


def test_dp_3_a_plan_that_spreads_topics_is_verified_and_other_figures_of_topics_are_found(
    tmp_path: Path, spark: SparkSession
) -> None:
    path, out = write_random_snapshot(tmp_path / "snapshot", seed=6), tmp_path / "plan"
    options = PlanOptions(network=NetworkLimits(10_000), weights=GoalWeights(topic_replicas=1, topic_leaders=1))
    job = PlanJob(path, out, Goal(GoalKind.REBALANCE), options, within=20)
    summary = plan_job.run_here(job)
    before, after = summary.topics_before, summary.topics_after
    assert before is not None
    assert after is not None
    assert 0 < after.replicas < before.replicas, "there is no time for some"
    on_spark = plan_job.run(spark, job._replace(out=tmp_path / "on-spark"))
    assert on_spark == summary
    said = msgspec.structs.replace(summary, topics_after=TopicFigures(after.replicas + 1, after.leaders))
    (out / SUMMARY_FILE).write_bytes(msgspec.json.encode(said))
    assert [(one.rule, one.name) for one in verify(CallOnSpark(spark, 1), path, out)] == [("summary", "topics_after")]


def test_dp_3_a_plan_that_spreads_a_topic_over_brokers_of_the_longest_ids_is_verified(tmp_path: Path) -> None:
    with SnapshotWriter(tmp_path / "snapshot") as writer:
        for broker in (1, 2, INT32):
            writer.brokers.add((broker, None, "h", 9092, None, None, True))
        for index in range(6):
            first = [INT32, 1, 2, INT32, 1, 2][index]
            writer.partitions.add(("even", index, [first], first, [first], [], [], 100, 0.0, 0.0, None, None))
            on = INT32 if index < 4 else index - 3
            writer.partitions.add(("crowded", index, [on], on, [on], [], [], 1, 0.0, 0.0, None, None))
        writer.finish(SnapshotMeta(cluster_id="c", at=5))
    options = PlanOptions(weights=GoalWeights(topic_replicas=1))
    assert plan_job.run_here(PlanJob(tmp_path / "snapshot", tmp_path / "plan", Goal(GoalKind.REBALANCE), options)).moves
    reasons = pq.read_table(tmp_path / "plan" / "moves")["reason"].to_pylist()
    assert f"broker {INT32} has 4 replicas of the topic, 3 would be even" in reasons
