"""The rounds of a plan as Spark jobs: no round repeats the work of earlier ones."""

from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline.planning import snapshot_chunks
from kafka_reassign_rpc.pipeline.planning.rounds_on_spark import RoundsOnSpark, pack, unpack_topics
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.round_coordinator import RoundCoordinator
from kafka_reassign_rpc.planner.round_sums import Survey
from tests.planner.clusters import random_cluster


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
    rounds, done = RoundsOnSpark(chunks.persist()), 0
    while (params := coordinator.next_round()) is not None:
        demand = rounds.propose(params)
        coordinator.settle(rounds.accept(coordinator.decide(demand)))
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
        *("1.0D produce_rate", "1.0D fetch_rate"),
    )
    everything = frozenset({1, 2, 3})
    facts = snapshot_chunks.ClusterFacts(Goal(GoalKind.REBALANCE), everything, everything, {}, 1)
    chunks = snapshot_chunks.read_chunks(partitions, facts, 8)
    found = chunks.mapPartitions(lambda task: [[len(t.partitions) for c in task for t in unpack_topics((c[0], b""))]])
    sizes = [task for task in found.collect() if task]
    survey = snapshot_chunks.survey_chunks(chunks)
    chunks.unpersist()
    assert sorted(size for task in sizes for size in task) == [2001, 5000, 5000]
    assert len(sizes) > 1
    assert (survey.survey.partitions, survey.faults.total) == (12_001, 0)
