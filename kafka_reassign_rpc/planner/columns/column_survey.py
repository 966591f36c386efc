from collections.abc import Mapping

import numpy as np

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES
from kafka_reassign_rpc.planner.columns.column_loads import replica_loads
from kafka_reassign_rpc.planner.columns.exact_sums import Numbers, exact_sums
from kafka_reassign_rpc.planner.columns.partition_columns import NOBODY, PartitionColumns
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN
from kafka_reassign_rpc.planner.proposals.round_sums import Survey

_UNKNOWN_RACK = -1


def column_survey(found: PartitionColumns, racks: Mapping[int, str] | None) -> Survey:
    """`racks`: of all live brokers, None if spreads do not matter."""
    survey, count = Survey(), len(found.brokers)
    unknown = found.bytes == UNKNOWN
    sizes = np.where(unknown, 0, found.bytes)
    survey.partitions = len(sizes)
    survey.unknown_sizes = int(unknown.sum())
    survey.known_sizes = survey.partitions - survey.unknown_sizes
    survey.known_bytes = exact_sums(np.zeros(len(sizes), np.int64), sizes, 1)[0]
    sums = [[0] * count for _ in MEASURES]
    lacking = np.zeros(count, np.int64)
    for place in range(found.replicas.shape[1]):
        there = found.replicas[:, place] != NOBODY
        brokers = found.replicas[there, place]
        lacking += np.bincount(brokers[unknown[there]], minlength=count)
        for measure, values in enumerate(replica_loads(found.rows(there), sizes[there], leads=place == 0)):
            if isinstance(values, int):
                added = [values * held for held in np.bincount(brokers, minlength=count).tolist()]
            else:
                added = exact_sums(brokers, values, count)
            sums[measure] = [one + other for one, other in zip(sums[measure], added, strict=True)]
    ids = found.brokers.tolist()
    for place, load in enumerate(zip(*sums, strict=True)):
        if load[1]:
            survey.loads.add(ids[place], load)
        if lacking[place]:
            survey.unknown[ids[place]] = int(lacking[place])
    _add_client_sends(survey, found)
    if racks is not None:
        _add_spreads(survey, found, sizes, unknown, racks)
    return survey


def _add_client_sends(survey: Survey, found: PartitionColumns) -> None:
    sends = (found.fetch != 0) | (found.produce != 0)
    followers = (found.replicas[sends] != NOBODY).sum(axis=1) - 1
    leaders, codes = np.unique(found.leader[sends], return_inverse=True)
    fetched = exact_sums(codes, found.fetch[sends], len(leaders))
    for count in np.unique(followers).tolist():
        chosen = followers == count
        produced = exact_sums(codes[chosen], found.produce[sends][chosen], len(leaders))
        fetched = [one + count * more for one, more in zip(fetched, produced, strict=True)]
    survey.client_sends = dict(zip(leaders.tolist(), fetched, strict=True))


def _add_spreads(
    survey: Survey, found: PartitionColumns, sizes: Numbers, unknown: Numbers, racks: Mapping[int, str]
) -> None:
    names = {name: code for code, name in enumerate(sorted(set(racks.values())))}
    of_broker = np.array([names.get(racks.get(broker, ""), _UNKNOWN_RACK) for broker in found.brokers.tolist()])
    of_broker[[broker not in racks for broker in found.brokers.tolist()]] = _UNKNOWN_RACK
    width = found.replicas.shape[1]
    there = found.replicas != NOBODY
    held = np.where(there, of_broker[found.replicas], -2 - np.arange(width))
    alike = np.stack([(held == held[:, [place]]).sum(axis=1) for place in range(width)], axis=1)
    firsts = np.stack([~(held[:, :place] == held[:, [place]]).any(axis=1) for place in range(width)], axis=1)
    different = (firsts & there).sum(axis=1)
    least = np.where(different == len(names), np.where(there, alike, width + 1).min(axis=1), 0)
    most = np.where(there, alike, 0).max(axis=1)
    lost = (held == _UNKNOWN_RACK).any(axis=1)  # anything is possible with a replica on a lost broker
    least, most = np.where(lost, 0, least), np.where(lost, there.sum(axis=1), most)
    spreads, codes = np.unique(least * (width + 1) + most, return_inverse=True)
    values = (sizes, np.ones(len(sizes), np.int64), found.produce, found.fetch, unknown.astype(np.int64))
    sums = [exact_sums(codes, column, len(spreads)) for column in values]
    for code, summed in zip(spreads.tolist(), zip(*sums, strict=True), strict=True):
        survey.spreads[divmod(code, width + 1)] = list(summed)
