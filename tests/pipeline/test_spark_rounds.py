"""The rounds of a plan as Spark jobs: what a round has done is not done again in the next one."""

import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline.planning.spark_rounds import Rounds, pack
from kafka_reassign_rpc.planner.coordinator import Coordinator
from kafka_reassign_rpc.planner.planning_round import Survey
from kafka_reassign_rpc.planner.values import Goal, Kind, Options, PlannedMove
from tests.planner.clusters import random_cluster

pytestmark = pytest.mark.timeout(400)


def test_dp_6_no_round_does_again_what_those_before_it_have_done(spark: SparkSession) -> None:
    cluster = random_cluster(12, 4, 400, dead=(5,))
    topics, context = list(cluster.topics), spark.sparkContext
    survey, read = Survey(), context.accumulator(0)
    for topic in topics:
        for partition in topic.partitions:
            survey.add(partition)

    def counted(chunk: bytes) -> tuple[bytes, None]:
        read.add(1)
        return chunk, None

    coordinator = Coordinator(cluster.brokers, Goal(Kind.HEAL), Options())
    coordinator.begin(survey)
    chunks = context.parallelize([pack([topic]) for topic in topics], 2).map(counted)
    rounds, done = Rounds(chunks.persist()), 0
    while (view := coordinator.view()) is not None:
        demand = rounds.propose(view)
        coordinator.settle(rounds.accept(coordinator.decide(demand)))
        done += 1
    found = rounds.harvest(coordinator.last_view()).collect()
    rounds.close()
    assert done > 2
    assert found
    assert all(isinstance(one, PlannedMove) for one in found)
    assert read.value == len(topics)
