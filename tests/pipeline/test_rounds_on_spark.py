"""The rounds of a plan as Spark jobs: no round repeats the work of earlier ones."""

from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline.planning.rounds_on_spark import RoundsOnSpark, pack
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
