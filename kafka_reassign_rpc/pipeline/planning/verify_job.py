"""The verify job: `verify_here` or `verify_on_spark` brings together what plan and snapshot say of each partition; the
other modules judge.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.planning.verify_figures import SnapshotSums, faults_of_figures
from kafka_reassign_rpc.pipeline.planning.verify_here import TablesHere
from kafka_reassign_rpc.pipeline.planning.verify_limits import brokers_over_limits, faults_of_batches
from kafka_reassign_rpc.pipeline.planning.verify_room import (
    BrokerSpace,
    broker_spaces,
    certain_rooms,
    disk_sizes,
    holdable_bytes,
    limited_spaces,
    overfull_brokers,
)
from kafka_reassign_rpc.pipeline.planning.verify_rows import CheckedRows
from kafka_reassign_rpc.pipeline.planning.verify_rules import ListedBroker, PlanFacts, RuleViolation, first_of_each
from kafka_reassign_rpc.pipeline.planning.verify_topics import TopicHeld, faults_of_topics
from kafka_reassign_rpc.pipeline.plans import plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.broker_rows import read_broker_rows
from kafka_reassign_rpc.pipeline.store_paths import StorePath

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_OF_LEFT_OUT = 10
"""Of a partition that is left out the summary has the bytes of one replica; it may have several to place."""


class TablesToVerify(Protocol):
    """The methods are called in this order; each may read the files."""

    def sums(self) -> SnapshotSums: ...

    def check(self, facts: PlanFacts, listed: Sequence[ListedBroker]) -> CheckedRows:
        """Checks what the plan names or should name."""

    def check_room(self, facts: PlanFacts, rooms: Mapping[int, int | None]) -> CheckedRows:
        """Checks what it leaves out. `rooms`: see `finds_room`."""

    def odd_files(self) -> Iterator[RuleViolation]:
        """Files that no tool would take, or with ids of topics of which they have no partition."""

    def held_by_topic(self, facts: PlanFacts, *, after: bool) -> Iterator[TopicHeld]: ...


def verify(spark: "SparkSession", path: StorePath, plan: StorePath) -> list[RuleViolation]:
    """The rules that the plan breaks: the first rows of each, and how many more. Raises BadInput for
    unreadable files.
    """
    from kafka_reassign_rpc.pipeline.planning.verify_on_spark import TablesOnSpark

    summary = checked_summary(path, plan)
    return _verify(TablesOnSpark(spark, path, plan, summary.moves), path, summary)


def verify_here(path: StorePath, plan: StorePath) -> list[RuleViolation]:
    return _verify(TablesHere(path, plan), path, checked_summary(path, plan))


def checked_summary(path: StorePath, plan: StorePath) -> PlanSummary:
    """Raises BadInput for a plan of another snapshot, before its tables are read."""
    meta, summary = snapshot_files.check(path), plan_writer.check(plan)
    if (meta.cluster_id, meta.at) != (summary.cluster_id, summary.at):
        raise BadInput(f"{plan}: was made from another snapshot than {path} (cluster {summary.cluster_id})")
    return summary


def _verify(tables: TablesToVerify, path: StorePath, summary: PlanSummary) -> list[RuleViolation]:
    return first_of_each(_violations(tables, path, summary))


def _violations(tables: TablesToVerify, path: StorePath, summary: PlanSummary) -> Iterator[RuleViolation]:
    listed = [
        ListedBroker(
            row["broker"], row["rack"], row["live"], bool(row["cordoned"]), row["capacity_bytes"], row["free_bytes"]
        )
        for row in read_broker_rows(path)
    ]
    sums = tables.sums()
    facts = _facts(path, summary, listed)._replace(typical=sums.typical, holdable=holdable_bytes(path, sums.held()))
    spaces = broker_spaces(path, summary.requested.headroom)
    allowed = limited_spaces(path, spaces, sums.held(), summary.requested.broker_max_bytes)
    facts = facts._replace(roomy=_roomy(allowed, facts, summary))
    checked = tables.check(facts, listed)
    if checked.no_room:
        rooms = certain_rooms(allowed, checked.arriving, facts.receivers, all_known=not sums.unknown_sizes)
        checked.add(tables.check_room(facts, rooms))
    for rule, rows in sorted(checked.named.items()):
        for topic, partition, detail in rows:
            yield RuleViolation(rule, f"{topic}-{partition}", detail)
        if checked.counts[rule] > len(rows):
            yield RuleViolation.unnamed(rule, checked.counts[rule] - len(rows))
    for broker, detail in overfull_brokers(spaces, checked.arriving):
        yield RuleViolation("capacity", f"broker {broker}", detail)
    yield from brokers_over_limits(checked.brokers, summary.requested)
    yield from faults_of_batches(checked.batches, summary)
    yield from tables.odd_files()
    yield from faults_of_topics(lambda after: tables.held_by_topic(facts, after=after), summary)
    yield from faults_of_figures(sums, checked, listed, facts, summary)


def _roomy(spaces: Mapping[int, BrokerSpace], facts: PlanFacts, summary: PlanSummary) -> frozenset[int]:
    """Whatever the plan has copied and taken back, and wherever it has tried to put what it leaves out."""
    tried = 2 * summary.bytes + _OF_LEFT_OUT * sum(one.bytes or 0 for one in summary.left_out)
    return frozenset(
        broker
        for broker in facts.receivers
        if broker not in spaces or min(spaces[broker].total, max(spaces[broker].volumes, default=0)) > tried
    )


def _facts(path: StorePath, summary: PlanSummary, listed: Sequence[ListedBroker]) -> PlanFacts:
    requested = summary.requested
    facts = PlanFacts.of(summary.kind, listed, requested.brokers, requested.factor, requested.topics, requested.parts)
    min_isrs, least_isr = snapshot_files.min_isrs(path)
    before = accumulate((one.moves for one in summary.batches), initial=1)
    return facts._replace(
        min_isrs=min_isrs,
        least_isr=least_isr,
        mends=facts.mends or requested.racks,
        leaders_stay=requested.leaders_stay,
        disk_sizes=disk_sizes(path),
        to=frozenset(requested.to),
        within=requested.within is not None,
        searched=summary.searched,
        least_bytes=requested.least_bytes,
        first_places={one.batch: first for one, first in zip(summary.batches, before, strict=False)},
    )
