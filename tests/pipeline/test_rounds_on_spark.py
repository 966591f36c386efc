"""The rounds of a plan as Spark jobs: no round repeats the work of earlier ones."""

import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline.planning import chunks_on_spark, snapshot_chunks
from kafka_reassign_rpc.pipeline.planning.rounds_on_spark import RoundsOnSpark, pack, unpack_topics
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.proposals.round_sums import Survey
from kafka_reassign_rpc.planner.round_coordinator import RoundCoordinator
from tests.planner.clusters import random_cluster

pytestmark = pytest.mark.gate


def test_dp_6_no_round_repeats_the_work_of_earlier_rounds(spark: SparkSession) -> None:
    cluster = random_cluster(12, 4, 400, dead=(5,))
    topics, context = list(cluster.topics), spark.sparkContext
    survey, read = Survey(), context.accumulator(0)
    for topic in topics:
        for partition in topic.partitions:
            survey.add(partition)

    def counted(chunk: bytes) -> tuple[bytes, None]:
        read.add(1)
        return chunk, None

    coordinator = RoundCoordinator(cluster.brokers, Goal(GoalKind.HEAL), PlanOptions())
    coordinator.begin(survey)
    chunks = context.parallelize([pack([topic]) for topic in topics], 2).map(counted)
    rounds, done = RoundsOnSpark(chunks.persist(), tasks=2), 0
    while (params := coordinator.next_round()) is not None:
        demand = rounds.propose(params)
        coordinator.take(rounds.accept(coordinator.decide(demand)))
        done += 1
    found = rounds.collect_moves(coordinator.round_parameters()).collect()
    rounds.close()
    assert done > 2
    assert found
    assert all(isinstance(one, PlannedMove) for one in found)
    assert read.value == len(topics)


def test_dp_6_a_huge_topic_is_the_work_of_several_tasks(spark: SparkSession) -> None:
    partitions = spark.range(12_001).selectExpr(
        *("'huge' topic", "cast(id as int) partition", "array(1, 2) replicas", "1 leader", "array(1, 2) isr"),
        *("array() adding", "array() removing", "false waiting", "cast(5 as bigint) bytes"),
        *("1.0D produce_rate", "1.0D fetch_rate", "1.0D message_rate", "1.0D cpu_rate"),
    )
    everything = frozenset({1, 2, 3})
    facts = snapshot_chunks.ClusterFacts(Goal(GoalKind.REBALANCE), everything, everything, {}, 1)
    chunks = chunks_on_spark.read_chunks(partitions, facts, 8)
    found = chunks.mapPartitions(lambda task: [[len(t.partitions) for c in task for t in unpack_topics((c[0], b""))]])
    sizes = [task for task in found.collect() if task]
    survey = chunks_on_spark.survey_chunks(chunks)
    chunks.unpersist()
    assert sorted(size for task in sizes for size in task) == [2001, 5000, 5000]
    assert len(sizes) > 1
    assert (survey.survey.partitions, survey.faults.total, survey.kept) == (12_001, 0, 12_001)


def test_dp_6_rounds_on_few_partitions_start_few_tasks(spark: SparkSession) -> None:
    cluster = random_cluster(12, 4, 100, dead=(5,))
    context, survey = spark.sparkContext, Survey()
    for topic in cluster.topics:
        for partition in topic.partitions:
            survey.add(partition)
    coordinator = RoundCoordinator(cluster.brokers, Goal(GoalKind.HEAL), PlanOptions())
    coordinator.begin(survey)
    params = coordinator.next_round()
    assert params is not None
    chunks = context.parallelize([(pack([topic]), None) for topic in cluster.topics], 6).persist()
    wide, narrow = RoundsOnSpark(chunks, tasks=6), RoundsOnSpark(chunks, tasks=2)
    proposed = [dict(rounds.propose(params).sums.items()) for rounds in (wide, narrow)]
    tasks = [rounds.collect_moves(params).getNumPartitions() for rounds in (wide, narrow)]
    wide.close()
    narrow.close()
    assert tasks == [6, 2]
    assert proposed[0] == proposed[1]


def test_dp_6_only_partitions_that_the_goal_may_move_count_as_work_of_rounds(spark: SparkSession) -> None:
    partitions = spark.range(3000).selectExpr(
        *("concat('t', id % 10) topic", "cast(id as int) partition", "array(1, if(id % 100 = 0, 3, 2)) replicas"),
        *("1 leader", "array(1) isr", "array() adding", "array() removing", "false waiting"),
        *("cast(5 as bigint) bytes", "1.0D produce_rate", "1.0D fetch_rate", "1.0D message_rate", "1.0D cpu_rate"),
    )
    facts = snapshot_chunks.ClusterFacts(Goal(GoalKind.HEAL), frozenset({1, 2, 3}), frozenset({1, 2}), {}, 1)
    chunks = chunks_on_spark.read_chunks(partitions, facts, 8)
    survey = chunks_on_spark.survey_chunks(chunks)
    chunks.unpersist()
    assert (survey.survey.partitions, survey.kept) == (3000, 30)
