"""The verify job: chunks of plan and snapshot are judged by whoever has them, their sums here."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain

import pyarrow as pa

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.planning import verify_chunk, verify_figures, verify_rules, verify_time
from kafka_reassign_rpc.pipeline.planning.verify_chunk import check_chunk, check_room, sources_of
from kafka_reassign_rpc.pipeline.planning.verify_facts import ListedBroker, PlanFacts, RuleViolation, first_of_each
from kafka_reassign_rpc.pipeline.planning.verify_figures import loads_after, shares_before
from kafka_reassign_rpc.pipeline.planning.verify_files import faults_of_files, named_faults
from kafka_reassign_rpc.pipeline.planning.verify_room import (
    BrokerSpace,
    broker_spaces,
    certain_rooms,
    disk_sizes,
    holdable_bytes,
    limited_spaces,
    overfull_brokers,
    still_coming,
)
from kafka_reassign_rpc.pipeline.planning.verify_rules import USELESS
from kafka_reassign_rpc.pipeline.planning.verify_snapshot import SnapshotRows
from kafka_reassign_rpc.pipeline.planning.verify_sums import CheckedRows, SnapshotSums, faults_of_topics, topic_shares
from kafka_reassign_rpc.pipeline.planning.verify_texts import faults_of_notes
from kafka_reassign_rpc.pipeline.plans import plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.broker_rows import read_broker_rows
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.pipeline.topic_pieces import PieceCaller

_OF_LEFT_OUT = 10
"""Of a partition that is left out the summary has the bytes of one replica; it may have several to place."""


SENTENCES = {
    **verify_rules.SENTENCES,
    **verify_chunk.SENTENCES,
    **verify_figures.SENTENCES,
    **verify_time.SENTENCES,
    "broker-max": "no broker comes to hold more than a --broker-max-… allows",
    "capacity": "brokers and their volumes have room for what comes",
    "complete": "the plan says whether partitions miss its goal, and how many",
    "limits-of-a-batch": "a batch keeps to its moves and bytes",
    "limits-of-a-broker": "a broker keeps to its moves and bytes in a batch",
    "max-bytes": "a rebalance copies no more than was asked for",
    "moves-at-a-time": "moves of a broker at a time are those asked for, or one of the numbers that may be chosen",
    "order": "batches are in the order of priorities",
    "summary": "figures follow from the snapshot and the moves",
    "why": "each reason why a broker is no nearer to its target follows from the figures",
    "within": "the plan takes no longer than --within",
}
"""What each rule says, by its name."""


def rows_to_verify(path: StorePath, summary: PlanSummary) -> int:
    return max(summary.moves, snapshot_files.count_partitions(path))


def verify(call: PieceCaller, path: StorePath, plan: StorePath) -> list[RuleViolation]:
    """The rules that the plan breaks: the first rows of each, and how many more. It is the last to read the snapshot.
    Raises BadInput for unreadable files.
    """
    summary = checked_summary(path, plan)
    listed = [
        ListedBroker(
            row["broker"], row["rack"], row["live"], bool(row["cordoned"]), row["capacity_bytes"], row["free_bytes"]
        )
        for row in read_broker_rows(path)
    ]
    said, sums, facts = sources_of(path, plan), SnapshotSums(), _facts(path, summary, listed)
    for of_some in call([said.partitions], _sums, facts):
        sums.add(of_some)
    coming, held, limits = still_coming(path), sums.held(), summary.requested.broker_max
    facts = facts._replace(typical=sums.typical, holdable=holdable_bytes(path, held, coming))
    spaces = broker_spaces(path, summary.requested.headroom, coming)
    limited = {broker for name, of in limits.items() if name != "bytes" for broker in of}
    allowed = limited_spaces(spaces, held, limits.get("bytes", {}), coming)
    facts = facts._replace(roomy=_roomy(allowed, facts, summary) - limited)
    checked = _together(call(said, check_chunk, facts))
    if checked.no_room:
        rooms = certain_rooms(allowed, checked.arriving, facts.receivers - limited, all_known=not sums.unknown_sizes)
        checked.add(_together(call(said, check_room, (facts, rooms))))
    call.forget()
    odd = zip(*call(faults_of_files(plan), named_faults, None), strict=True)
    found = [fault for of_one in odd for fault in sorted(chain.from_iterable(of_one), key=lambda one: one.name)]
    found += [one for rule in sorted(checked.named) if rule != USELESS for one in checked.violations(rule)]
    full = overfull_brokers(spaces, checked.arriving)
    found += [RuleViolation("capacity", f"broker {broker}", why) for broker, why in full]
    found += verify_figures.brokers_over_limits(checked.brokers, summary.requested)
    found += verify_figures.faults_of_batches(checked.batches, summary)
    found += faults_of_topics(checked, summary)
    found += verify_figures.faults_of_figures(sums, checked, listed, facts, summary)
    found += [RuleViolation(*fault) for fault in faults_of_notes(path, listed, sums, facts, summary)]
    return first_of_each(found)


def checked_summary(path: StorePath, plan: StorePath) -> PlanSummary:
    """Raises BadInput for a plan of another snapshot, before its tables are read."""
    meta, summary = snapshot_files.check(path), plan_writer.check(plan)
    if (meta.cluster_id, meta.at) != (summary.cluster_id, summary.at):
        raise BadInput(f"{plan}: was made from another snapshot than {path} (cluster {summary.cluster_id})")
    return summary


def _sums(tables: Sequence[pa.Table], facts: PlanFacts) -> SnapshotSums:
    return SnapshotRows(tables[0]).sums(facts)


def _together(found: list[CheckedRows]) -> CheckedRows:
    checked = CheckedRows()
    for one in found:
        checked.add(one)
    return checked


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
        within=requested.within,
        searched=summary.searched,
        least_bytes=requested.least_bytes,
        locality=requested.locality,
        first_places={one.batch: first for one, first in zip(summary.batches, before, strict=False)},
        loads=loads_after(summary) if summary.searched else {},
        tolerance=requested.tolerance,
        topic_ids=snapshot_files.topic_ids(path),
        topic_shares=topic_shares(summary),
        shares_before=shares_before(summary),
    )
