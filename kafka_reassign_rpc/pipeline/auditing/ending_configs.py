"""Configs in a snapshot at which brokers end when they start, or that they cannot apply."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers, Configs
from kafka_reassign_rpc.core.configs.live_brokers import TIERED_STORAGE
from kafka_reassign_rpc.core.restarts.standing_defaults import troubles
from kafka_reassign_rpc.core.restarts.topic_values import topic_trouble
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import OF_BROKER, STATIC
from kafka_reassign_rpc.pipeline.store_paths import StorePath

ALL_BROKERS = "<default>"
"""As in Kafka's znodes."""
ENDING_CONFIGS = pa.schema([(name, pa.string()) for name in ("resource_type", "resource", "reason")])

OfBrokers = Mapping[str, Sequence[Any]]
"""Rows by broker; "" for all brokers."""


def ending_configs(path: StorePath, brokers: Sequence[Mapping[str, Any]]) -> pa.Table:
    """A row for each fault of a topic or of the cluster-wide configs. `brokers`: rows of the snapshot."""
    configs = snapshot_files.read(path, "configs")
    told = {resource: list(rows) for resource, rows in _by_resource(configs, "broker")}
    defaults = told.pop("", [])
    live = {str(row["broker"]) for row in brokers if row["live"]}
    found = [("broker", ALL_BROKERS, reason) for reason in _of_defaults(_values(defaults), told)]
    tiered = _tiered_storage(live, told)
    for topic, rows in _by_resource(configs, "topic"):
        trouble = topic_trouble(_values(rows), tiered)
        if trouble is not None:
            found.append(("topic", topic, trouble.why))
    return pa.Table.from_pylist([dict(zip(ENDING_CONFIGS.names, row, strict=True)) for row in found], ENDING_CONFIGS)


def _by_resource(configs: pa.Table, kind: str) -> Iterator[tuple[str, Iterator[Any]]]:
    rows = configs.filter(pc.equal(configs["resource_type"], kind)).sort_by("resource")
    each = (row for batch in rows.to_batches(10_000) for row in batch.to_pylist())
    return groupby(each, key=itemgetter("resource"))


def _of_defaults(defaults: Configs, told: OfBrokers) -> Iterator[str]:
    """A broker that tells a value without its source is not judged: the cluster-wide one may or may not replace it."""
    layers = {
        int(broker): ConfigLayers(
            own=_values(row for row in rows if row["source"] == OF_BROKER),
            static=_values(row for row in rows if row["source"] == STATIC),
        )
        for broker, rows in told.items()
        if all(row["source"] is not None for row in rows)
    }
    for names, harm in troubles(defaults, layers):
        yield f"{', '.join(names)}: {harm}"


def _tiered_storage(live: set[str], told: OfBrokers) -> bool | None:
    """None unless the configs of all live brokers are known."""
    if not live <= told.keys():
        return None
    return all(_values(told[broker]).get(TIERED_STORAGE) == "true" for broker in live)


def _values(rows: Any) -> dict[str, str]:
    return {row["name"]: row["value"] for row in rows if row["value"] is not None}
