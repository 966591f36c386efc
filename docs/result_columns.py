"""The page of the columns of what `audit` and `history` find."""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from docs.markdown import NOTE, columns_table
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import Column

_TEXT, _FLAG, _NUMBER, _LONG, _FLOAT = pa.string(), pa.bool_(), pa.int32(), pa.int64(), pa.float64()
_IDS, _TEXTS = pa.list_(_NUMBER), pa.list_(_TEXT)
_TIME = "ms since 1970 (UTC)"


class ResultTable(NamedTuple):
    """A table that `command --out` writes. `tests/pipeline/test_result_columns.py` compares columns and types with the
    files.
    """

    command: str
    name: str
    rows: str
    columns: Sequence[Column]


_PARTITION = (Column("topic", _TEXT, "its topic"), Column("partition", _NUMBER, "its number in the topic"))
_AT = Column("at", _LONG, "when the snapshot was taken", _TIME)
_BYTES = Column("bytes", _LONG, "its replicas, without those of unknown size", "bytes")
_REPLICAS = Column("replicas", _LONG, "how many it has")
_UNKNOWN = Column("unknown", _LONG, "how many of its replicas have an unknown size")
_NO_RATE = "no partition of the broker has such a rate"
_NO_START = "its start is not in the events"
_MOVE = (
    *_PARTITION,
    Column("original", _IDS, "its replicas before the move", null="no event has them"),
    Column("target", _IDS, "its replicas after the move", null="no event has them"),
    Column(
        "outcome",
        _TEXT,
        "`completed` or `cancelled` where it has ended; else `stalled`, `moving`, `waiting` (in the queue), or"
        " `withdrawn` (taken out of the queue)",
    ),
    Column("started", _LONG, "when it started", _TIME, f"it has not started, or {_NO_START}"),
    Column(
        "waited_seconds", _FLOAT, "how long it waited in the queue", "s", "it did not wait there, or has not started"
    ),
    Column("seconds", _FLOAT, "how long it took", "s", f"it has not ended, or {_NO_START}"),
    Column("bytes", _LONG, "what it has copied, over all new replicas", "bytes", "not known"),
)
_RATE = Column(
    "bytes_per_second", _FLOAT, "`bytes` by `seconds`", "bytes/s", "it is not completed, or one is not known"
)
_REQUESTER = (
    Column("who", _TEXT, "who asked for it, for people", null=_NO_START),
    Column("principal", _TEXT, "the principal of who asked", null="no client asked, or its start is not in the events"),
    Column("reason", _TEXT, "the reason that was given", null="none"),
)
_STALLS = (
    Column("stalls", _LONG, "how often it stalled"),
    Column("stalled_seconds", _FLOAT, "how long it stalled, without a stall that lasts", "s"),
)
RESULTS = (
    ResultTable(
        "audit",
        "brokers",
        "a row for each broker of each snapshot. A partition whose move is in flight or waits counts with its target",
        (
            _AT,
            Column("broker", _NUMBER, "its id"),
            Column("rack", _TEXT, "its rack", null="it has none, or is not live"),
            Column("live", _FLAG, "whether it is live"),
            _BYTES,
            _REPLICAS,
            Column("leaders", _LONG, "how many partitions it leads"),
            _UNKNOWN,
            Column(
                "capacity", _LONG, "the size of its disks", "bytes", "not known, or its sizes contradict each other"
            ),
            Column(
                "holdable",
                _LONG,
                "bytes of replicas that its disks can hold: those that are there, and what is free; the capacity where"
                " that is not known",
                "bytes",
                "not known, or its sizes contradict each other",
            ),
            Column("produce", _FLOAT, "what producers send to the partitions of all its replicas", "bytes/s", _NO_RATE),
            Column("fetch", _FLOAT, "what clients fetch from the partitions that it leads", "bytes/s", _NO_RATE),
            Column("bytes_in", _FLOAT, "what producers send to the partitions that it leads", "bytes/s", _NO_RATE),
            Column(
                "potential_out",
                _FLOAT,
                "what clients fetch from the partitions of all its replicas: it may lead them all",
                "bytes/s",
                _NO_RATE,
            ),
            Column("messages_in", _FLOAT, "messages to the partitions that it leads", "1/s", _NO_RATE),
            Column("cpu", _FLOAT, "`cpu` of `--rates`, of the partitions that it leads", null=_NO_RATE),
        ),
    ),
    ResultTable(
        "audit",
        "spread",
        "a row for each snapshot and measure (a column of `brokers` from `bytes` on), over the live brokers. A rate"
        " that no broker has is left out",
        (
            _AT,
            Column("measure", _TEXT, "what is measured; `least`, `most`, `mean` and `target` have its unit"),
            Column("brokers", _LONG, "how many brokers are live"),
            Column("least", _FLOAT, "what the broker holds that holds least"),
            Column("most", _FLOAT, "what the broker holds that holds most"),
            Column("mean", _FLOAT, "what a broker holds on average"),
            Column("fullest", _NUMBER, "the broker that holds most for its target; among equals the lowest id"),
            Column("target", _FLOAT, "what the fullest should hold"),
            Column("worst", _FLOAT, "what the fullest holds, as a multiple of its target"),
            Column("deviation", _FLOAT, "root of the mean square of all distances from targets, as shares of these"),
        ),
    ),
    ResultTable(
        "audit",
        "log_dirs",
        "a row for each log dir of the last snapshot, copies under way left out",
        (
            Column("broker", _NUMBER, "the id of its broker"),
            Column("log_dir", _TEXT, "its path"),
            Column("state", _TEXT, "`open`, `cordoned` or `failed`"),
            _BYTES,
            _REPLICAS,
            _UNKNOWN,
            Column("capacity", _LONG, "the size of its disk", "bytes", "not known"),
            Column("free", _LONG, "what is free on its disk", "bytes", "not known"),
            Column("even_bytes", _LONG, "what its disk should hold, as of an even plan", "bytes", "it gets no replica"),
            Column(
                "distance",
                _FLOAT,
                "how far its disk is from that, as a share of it: 0.5 holds half as much again",
                null="it gets no replica, or should hold nothing",
            ),
            Column("advice", _TEXT, "what would help; empty: nothing need be done"),
        ),
    ),
    ResultTable(
        "audit",
        "drift",
        "a row for each replication factor that changed between two snapshots in a row",
        (
            *_PARTITION,
            Column("before", _NUMBER, "the factor in the earlier snapshot"),
            Column("after", _NUMBER, "the factor in the later one"),
            Column("seen_before", _LONG, "when the earlier snapshot was taken", _TIME),
            Column("seen", _LONG, "when the later one was taken", _TIME),
            *(
                Column(name, kind, meaning, unit, f"without `--events`, or no event between the two{more}")
                for name, kind, meaning, unit, more in (
                    ("when", _LONG, "when a move to that factor was asked for", _TIME, ""),
                    ("who", _TEXT, "who asked for it", "", ""),
                    ("route", _TEXT, "the way by which it came", "", ""),
                    ("reason", _TEXT, "the reason that was given", "", ", or none was given"),
                )
            ),
        ),
    ),
    ResultTable(
        "audit",
        "mixed",
        "a row for each topic of the last snapshot whose partitions have different replication factors",
        (
            Column("topic", _TEXT, "its name"),
            Column("least", _NUMBER, "the smallest factor"),
            Column("most", _NUMBER, "the largest factor"),
            Column("partitions", _LONG, "how many partitions it has"),
        ),
    ),
    ResultTable(
        "audit",
        "rack_violations",
        "a row for each partition of the last snapshot on fewer racks than possible, or with more replicas in one than"
        " needed. Where one of its brokers has no known rack it is left out",
        (
            *_PARTITION,
            Column("replicas", _IDS, "its replicas"),
            Column("racks", _TEXTS, "their racks, one for one"),
            Column("on_racks", _LONG, "on how many racks it is"),
            Column("possible", _LONG, "on how many it could be"),
            Column("in_one", _NUMBER, "the most replicas in one rack"),
            Column("needed", _NUMBER, "the least that this can be"),
        ),
    ),
    ResultTable(
        "audit",
        "under_replicated",
        "a row for each partition of the last snapshot with replicas out of sync; one that a move adds is not missed",
        (
            *_PARTITION,
            Column("replicas", _IDS, "its replicas"),
            Column("isr", _IDS, "those in sync"),
            Column("missing", _IDS, "those out of sync"),
            Column("since", _LONG, "the first of the snapshots in a row that show it", _TIME),
        ),
    ),
    ResultTable(
        "audit",
        "ending_configs",
        "a row for each config of the last snapshot at which brokers end when they start, or that they cannot apply",
        (
            Column("resource_type", _TEXT, "`topic` or `broker`"),
            Column("resource", _TEXT, "the topic; `<default>` is the default of all brokers"),
            Column("reason", _TEXT, "what is wrong with it"),
        ),
    ),
    ResultTable(
        "history",
        "outcomes",
        "a row for each outcome and route of moves",
        (
            Column("outcome", _TEXT, "see `moves`"),
            Column("route", _TEXT, "the way by which they came; `unknown` where no event has it"),
            Column("moves", _LONG, "how many there are"),
            Column("median_seconds", _FLOAT, "half of them took less", "s", "the duration of none is known"),
            Column("p95_seconds", _FLOAT, "95 of 100 took less", "s", "the duration of none is known"),
            Column("longest_seconds", _FLOAT, "the longest", "s", "the duration of none is known"),
            Column("mean_waited_seconds", _FLOAT, "how long those waited that did, on average", "s", "none waited"),
            Column("bytes", _LONG, "what those copied of which it is known", "bytes", "it is known of none"),
            Column(
                "median_bytes_per_second", _FLOAT, "half of them were slower", "bytes/s", "the rate of none is known"
            ),
        ),
    ),
    ResultTable("history", "slowest", "the moves that have ended, the longest first", (*_MOVE, _RATE, *_REQUESTER)),
    ResultTable(
        "history", "stalled", "the moves that stalled, first those that still do", (*_MOVE, *_STALLS, *_REQUESTER)
    ),
    ResultTable(
        "history",
        "throttles",
        "a row for each rate of a broker, from when it was set to the next change or the last event",
        (
            Column("broker", _NUMBER, "its id"),
            Column("started", _LONG, "when the rate was set", _TIME),
            Column("ended", _LONG, "when it was changed, or the last event", _TIME),
            Column("rate", _LONG, "the rate", "bytes/s"),
            Column(
                "bytes",
                _LONG,
                "what the broker received by moves meanwhile; what it sent does not count",
                "bytes",
                "a move began earlier or went on later, or what one copied is not known",
            ),
            Column("bytes_per_second", _FLOAT, "`bytes` by the time between", "bytes/s", "as `bytes`"),
            Column("efficiency", _FLOAT, "`bytes_per_second` as a share of `rate`", null="as `bytes`; the rate is 0"),
        ),
    ),
    ResultTable(
        "history",
        "refusals",
        "a row for each kind of refusal and reason, the most frequent first",
        (
            Column("event", _TEXT, "the [event](events.md)"),
            Column("reason", _TEXT, "why it was refused", null="no reason was recorded"),
            Column("events", _LONG, "how often"),
            Column("when", _LONG, "the last time", _TIME),
        ),
    ),
    ResultTable(
        "history",
        "moves",
        "a row for each move, in the order of their starts",
        (
            *_PARTITION,
            Column("id", _LONG, "the id of the move", null="no event has it"),
            Column("route", _TEXT, "the way by which it came", null=_NO_START),
            *_REQUESTER,
            *_MOVE[2:6],
            Column("ended", _LONG, "when it ended", _TIME, "it has not ended"),
            *_MOVE[6:],
            _RATE,
            Column("retargets", _LONG, "how often its target changed"),
            *_STALLS,
        ),
    ),
)


def results_page() -> str:
    """Every table that `audit` and `history` write, with its columns."""
    parts = [
        NOTE.format(source="docs/result_columns.py"),
        "# Columns of results",
        "`kafka-reassign-rpc audit` and `history` write these tables as Parquet with `--out`, and print the first rows;"
        " `--json` has the same names ([pipeline](pipeline.md)). Columns may be added: programs leave out those that"
        " they do not know. The column *null* says what a null means; where it is empty, there is none.",
        "`plan combine` writes the tables of any other [plan](plans.md). `plan verify` and `plan show` print text or"
        " JSON and write no table.",
        "`audit`, `history` and `plan` refuse a snapshot in which a partition is there twice (`export` writes none):"
        " bytes, replicas and leaders of its brokers, or its moves, would count twice.",
    ]
    for one in RESULTS:
        has = f"`{one.name}.parquet` has {one.rows}."
        parts += [f"## {one.name} of {one.command}", has, columns_table(one.columns)]
    return "\n\n".join(parts) + "\n"
