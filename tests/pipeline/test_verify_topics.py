"""The figures of topics: by hand, and of a plan that spreads topics, which is verified."""

from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.planning.verify_job import verify
from kafka_reassign_rpc.pipeline.planning.verify_topics import TopicHeld, above_even
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    SUMMARY as SUMMARY_FILE,
)
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BrokerFigures,
    LoadFigures,
    TopicFigures,
)
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
    requested = msgspec.structs.replace(SUMMARY.requested, tolerance=0.1)
    summary = msgspec.structs.replace(SUMMARY, brokers=brokers, requested=requested)
    rows = [
        TopicHeld("t", 0, 1, 7, 0),
        TopicHeld("t", 0, 2, 1, 4),
        TopicHeld("u", 0, 3, 1, 1),
        TopicHeld("u", 0, 9, 1, 0),
    ]
    assert above_even(rows, ["replicas", "leaders"], summary) == TopicFigures(2, 2)
    assert above_even(rows, ["leaders"], summary) == TopicFigures(0, 2)
    assert above_even([], ["replicas"], summary) == TopicFigures()


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
    assert [(one.rule, one.name) for one in verify(spark, path, out)] == [("summary", "topics_after")]
