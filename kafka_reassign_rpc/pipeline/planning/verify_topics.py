"""Whether the figures of topics follow: what brokers have of single topics above what would be even.

It shares nothing with the planner.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.planning.plan_rules import PlanFacts, RuleViolation
from kafka_reassign_rpc.pipeline.plans import plan_directory, plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary, TopicFigures
from kafka_reassign_rpc.pipeline.store_paths import StorePath, spark_uri

_PIECE = 5_000
"""A larger topic is spread in pieces of so many partitions."""
_PARTITION = ("topic", "partition")


class TopicHeld(NamedTuple):
    """What a broker has of a topic, or of a piece of a huge one."""

    topic: str
    piece: int
    broker: int
    replicas: int
    leaders: int


def faults_of_topics(
    partitions: DataFrame, spark: SparkSession, plan: StorePath, facts: PlanFacts, summary: PlanSummary
) -> Iterator[RuleViolation]:
    """Only of a plan that was to spread topics."""
    told = summary.topics_before, summary.topics_after
    asked = [name for name in TopicFigures.__struct_fields__ if summary.requested.weights.get(f"topic_{name}")]
    if summary.kind != "rebalance" or not asked:
        return
    schema = parquet_files.spark_schema(plan_writer.MOVES_SCHEMA)
    moves = spark.read.schema(schema).parquet(spark_uri(plan / plan_directory.MOVES))
    targets = moves.select(*_PARTITION, f.col("to_replicas").alias("target"))
    stood = partitions.select(*_PARTITION, "replicas")
    if facts.topics:
        stood = stood.where(f.col("topic").isin(*facts.topics))
    moved = stood.join(targets, [*_PARTITION], "left")
    for name, says, replicas in (
        ("topics_before", told[0], f.col("replicas")),
        ("topics_after", told[1], f.coalesce("target", "replicas")),
    ):
        follows = above_even(_held(moved.select(*_PARTITION, replicas.alias("replicas"))), asked, summary)
        if says != follows:
            yield RuleViolation("summary", name, f"{says}, not {follows}")


def _held(placed: DataFrame) -> Iterator[TopicHeld]:
    piece = f.floor(f.col("partition") / _PIECE).cast("int").alias("piece")
    each = placed.select("topic", piece, f.posexplode("replicas").alias("place", "broker"))
    sums = each.groupBy("topic", "piece", "broker").agg(f.count("*"), f.count_if(f.col("place") == 0))
    for row in sums.orderBy("topic", "piece").toLocalIterator():
        yield TopicHeld(*row)


def above_even(rows: Iterable[TopicHeld], asked: Iterable[str], summary: PlanSummary) -> TopicFigures:
    """A broker may have its share of a topic, by its target, and the tolerance, rounded up. `rows`: in order."""
    counted = list(asked)
    parts = {name: _parts(name, summary) for name in counted}
    above = dict.fromkeys(counted, 0)
    of_one: list[TopicHeld] = []
    for row in chain(rows, [TopicHeld("", -1, -1, 0, 0)]):
        if of_one and (row.topic, row.piece) != (of_one[0].topic, of_one[0].piece):
            for name in counted:
                whole = sum(getattr(one, name) for one in of_one)
                for one in of_one:
                    if one.broker in parts[name]:
                        most = math.ceil(whole * parts[name][one.broker] - 1e-9)
                        above[name] += max(0, getattr(one, name) - most)
            of_one = []
        of_one.append(row)
    return TopicFigures(**above)


def _parts(name: str, summary: PlanSummary) -> Mapping[int, float]:
    targets = {one.broker: getattr(one.target, name) for one in summary.brokers if one.live}
    whole = sum(targets.values())
    return {broker: one / whole * (1 + summary.requested.tolerance) for broker, one in targets.items()} if whole else {}
