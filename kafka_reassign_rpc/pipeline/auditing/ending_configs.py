"""Configs in a snapshot at which brokers end when they start, or that they cannot apply."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers, Configs
from kafka_reassign_rpc.core.configs.live_brokers import TIERED_STORAGE
from kafka_reassign_rpc.core.restarts.standing_defaults import troubles
from kafka_reassign_rpc.core.restarts.topic_values import topic_trouble
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import OF_BROKER, STATIC

ALL_BROKERS = "<default>"
"""As in Kafka's znodes."""
_COLUMNS = "resource_type string, resource string, reason string"

OfBrokers = Mapping[str, Sequence[Any]]
"""Rows by broker; "" for all brokers."""


def ending_configs(spark: SparkSession, configs: DataFrame, brokers: DataFrame) -> DataFrame:
    """A row for each fault of a topic or of the cluster-wide configs."""
    of_brokers = _by_resource(configs, "broker")
    told = {resource: list(rows) for resource, rows in of_brokers}
    defaults = told.pop("", [])
    live = {str(row.broker) for row in brokers.where("live").collect()}
    found = [("broker", ALL_BROKERS, reason) for reason in _of_defaults(_values(defaults), told)]
    tiered = _tiered_storage(live, told)
    for topic, rows in _by_resource(configs, "topic"):
        trouble = topic_trouble(_values(rows), tiered)
        if trouble is not None:
            found.append(("topic", topic, trouble.why))
    return spark.createDataFrame(found, _COLUMNS)


def _by_resource(configs: DataFrame, kind: str) -> Iterator[tuple[str, Iterator[Any]]]:
    rows = configs.where(configs.resource_type == kind).orderBy("resource").toLocalIterator()
    return groupby(rows, key=lambda row: row.resource)


def _of_defaults(defaults: Configs, told: OfBrokers) -> Iterator[str]:
    """A broker that tells a value without its source is not judged: the cluster-wide one may or may not replace it."""
    layers = {
        int(broker): ConfigLayers(
            own=_values(row for row in rows if row.source == OF_BROKER),
            static=_values(row for row in rows if row.source == STATIC),
        )
        for broker, rows in told.items()
        if all(row.source is not None for row in rows)
    }
    for names, harm in troubles(defaults, layers):
        yield f"{', '.join(names)}: {harm}"


def _tiered_storage(live: set[str], told: OfBrokers) -> bool | None:
    """None unless the configs of all live brokers are known."""
    if not live <= told.keys():
        return None
    return all(_values(told[broker]).get(TIERED_STORAGE) == "true" for broker in live)


def _values(rows: Any) -> dict[str, str]:
    return {row.name: row.value for row in rows if row.value is not None}
