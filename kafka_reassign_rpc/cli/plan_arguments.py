"""The kinds of plans with their flags, and what the flags of a plan ask for."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_reassign_rpc.cli.pipeline_jobs import MEASURES, add_broker_weights, read_broker_weights
from kafka_reassign_rpc.cli.spark_arguments import check_spark_arguments
from kafka_reassign_rpc.cli.value_parsers import byte_count, byte_rate, seconds, share, whole
from kafka_reassign_rpc.support.quiet_arguments import UsageError, checked, checked_if_given
from kafka_reassign_rpc.support.secrecy import told

if TYPE_CHECKING:
    from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
    from kafka_reassign_rpc.planner.goals_and_options import GoalKind, PlanOptions


class Kind(NamedTuple):
    """`flags`: those of this kind, besides the flags of all kinds."""

    help: str
    example: str
    flags: tuple[str, ...]


KINDS = {
    "heal": Kind("put the replicas of lost brokers onto live brokers", "heal --brokers 7", ("lost", "to")),
    "drain": Kind("empty live brokers", "drain --brokers 4,5 --throttle 50MB", ("brokers", "to", "locality")),
    "demote": Kind("take the lead from brokers, and copy nothing", "demote --brokers 3", ("brokers",)),
    "expand": Kind(
        "give new brokers their share of the replicas",
        "expand --brokers 7,8 --max-bytes 2TB",
        ("brokers", "tolerance", "max-bytes", "least-bytes", "locality"),
    ),
    "rebalance": Kind(
        "even out bytes, replicas, leaders and rates",
        "rebalance --weight bytes=2 --tolerance 0.05",
        ("racks", "tolerance", "max-bytes", "least-bytes", "locality"),
    ),
    "set-rf": Kind(
        "change the replication factor",
        "set-rf --topics orders,payments --replication-factor 3",
        ("to", "replication-factor"),
    ),
    "racks": Kind("put partitions onto more racks that are on fewer than possible", "racks --topics orders", ()),
    "combine": Kind(
        "heal, drain and expand in one plan, so that no byte is copied twice",
        "combine --drain 3 --heal 7 --expand 9",
        ("parts", "tolerance", "locality"),
    ),
}


class BrokerLimit(NamedTuple):
    what: str
    unit: str
    example: str
    parse: Callable[[str], int]


BROKER_LIMITS = {
    "bytes": BrokerLimit("bytes of replicas", "BYTES", "4=2TB", byte_count(0)),
    "replicas": BrokerLimit("replicas", "N", "4=2000", whole(0)),
    "leaders": BrokerLimit("preferred leaders", "N", "4=700", whole(0)),
    "produce": BrokerLimit("bytes/s written to replicas", "BYTES/S", "4=50MB", byte_rate(1)),
    "fetch": BrokerLimit("bytes/s that leaders send to consumers", "BYTES/S", "4=50MB", byte_rate(1)),
    "bytes_in": BrokerLimit("bytes/s that leaders get from producers", "BYTES/S", "4=50MB", byte_rate(1)),
    "potential_out": BrokerLimit(
        "bytes/s that consumers would read if all its replicas led", "BYTES/S", "4=90MB", byte_rate(1)
    ),
    "messages_in": BrokerLimit("messages/s that leaders get", "N", "4=20000", whole(0)),
    "cpu": BrokerLimit("CPU of leaders, in µs/s", "N", "4=900000", whole(0)),
}
"""By measure."""
_BROKER = whole(0, 2**31 - 1)
_WEIGHTS = (*MEASURES, "topic", "time", "topic_replicas", "topic_leaders")


ALL = "*"
"""All topics (`set-rf`), or all lost brokers (`combine --heal` without ids)."""


def add_goal_arguments(parser: argparse.ArgumentParser, name: str, flags: tuple[str, ...]) -> None:
    moves = parser.add_argument_group("what moves")
    if "lost" in flags:
        moves.add_argument("--brokers", metavar="4,5", help="only these lost brokers (default: all lost brokers)")
    if "brokers" in flags:
        to_do = {"drain": "to empty", "demote": "that are to lead nothing"}.get(name, "to fill")
        moves.add_argument("--brokers", required=True, metavar="4,5", help=f"the ids of the brokers {to_do}")
    if "parts" in flags:
        moves.add_argument(
            "--heal",
            nargs="?",
            const=ALL,
            metavar="7",
            help="the lost brokers whose replicas get new homes (no ids: all lost brokers)",
        )
        moves.add_argument("--drain", metavar="3,4", help="the live brokers to empty")
        moves.add_argument("--expand", metavar="9", help="the new brokers that get their share")
    if "to" in flags:
        moves.add_argument(
            "--to",
            metavar="7,8",
            help="new replicas go to these brokers alone (default: to any); what fits on none of them, or would be "
            "less even over racks there, is left out",
        )
    if "replication-factor" in flags:
        moves.add_argument(
            "--replication-factor", required=True, metavar="N", help="the number of replicas that each partition gets"
        )
    if "racks" in flags:
        moves.add_argument(
            "--racks",
            action="store_true",
            help="also mend partitions that are uneven over racks, as `racks`",
        )
    moves.add_argument(
        "--topics",
        metavar="a,b",
        required=name == "set-rf",
        help="only these topics, with patterns such as 'orders-*'"
        + ("; '*' for all topics" if name == "set-rf" else " (default: all topics)"),
    )
    moves.add_argument(
        "--exclude-topics", metavar="a,b", help="not these topics; patterns as of --topics: '__*,*-test'"
    )


def add_plan_arguments(parser: argparse.ArgumentParser, flags: tuple[str, ...]) -> None:
    from kafka_reassign_rpc.planner.goals_and_options import PlanOptions

    options = PlanOptions()
    files = parser.add_argument_group("snapshot and plan")
    files.add_argument("--snapshot", required=True, metavar="DIR", help="a snapshot that `export` wrote")
    files.add_argument("--out", required=True, metavar="DIR", help="the directory of the plan; it must be new or empty")
    _add_soft_goals(parser, flags, options)
    _add_limits(parser, flags, options)
    network = parser.add_argument_group("network and time")
    network.add_argument(
        "--within",
        metavar="TIME",
        help="plan what can be done in this time, such as 2h: what is at risk, then what is worth most for a copied "
        "byte; the rest is left out (default: all)",
    )
    network.add_argument(
        "--bandwidth",
        default=options.network.bandwidth,
        metavar="BYTES/S",
        help="bytes per second of each broker in each direction, such as 50MB (default: %(default)s)",
    )
    network.add_argument(
        "--broker-bandwidth",
        action="append",
        default=[],
        metavar="ID=BYTES/S",
        help="the bandwidth of a broker that differs, such as 4=25MB: a slow one gets and sends less; may be repeated",
    )
    network.add_argument(
        "--throttle",
        metavar="BYTES/S",
        help="the throttle with which the plan will be submitted, to estimate its duration (default: none)",
    )

    if "locality" in flags:
        network.add_argument(
            "--locality",
            action="store_true",
            help="copies stay in the rack (or zone) of the replica that they replace, as far as racks have room; what "
            "evens out brokers crosses racks only for those that are still outside the tolerance then",
        )
    network.add_argument(
        "--leaders-stay",
        action="store_true",
        help="no other replica leads first where a broker would send much more than others",
    )


def _add_soft_goals(parser: argparse.ArgumentParser, flags: tuple[str, ...], options: "PlanOptions") -> None:
    even = parser.add_argument_group("how even")
    if "tolerance" in flags:
        either = even.add_mutually_exclusive_group()
        either.add_argument(
            "--tolerance",
            metavar="SHARE",
            help=f"how far a broker may be from its target, as a share of it (default: {options.tolerance})",
        )
        either.add_argument(
            "--until",
            metavar="SHARE",
            help="as --tolerance; where a broker stays further from its target, the exit code is 5",
        )
    even.add_argument(
        "--weight",
        action="append",
        default=[],
        metavar="GOAL=WEIGHT",
        help=f"how much an even spread of GOAL counts ({', '.join(_WEIGHTS)}); 0: not at all; may be repeated",
    )
    add_broker_weights(even)
    even.add_argument(
        "--seed",
        default=options.seed,
        metavar="N",
        help="another number gives another plan that is as good (default: %(default)s)",
    )


def _add_limits(parser: argparse.ArgumentParser, flags: tuple[str, ...], options: "PlanOptions") -> None:
    from kafka_reassign_rpc.planner.goals_and_options import BatchLimits

    batches = BatchLimits()
    limits = parser.add_argument_group("limits")
    if "max-bytes" in flags:
        limits.add_argument(
            "--max-bytes",
            default=options.max_bytes,
            metavar="BYTES",
            help="copy at most this many bytes in all, such as 500GB (default: no limit)",
        )
    if "least-bytes" in flags:
        limits.add_argument(
            "--least-bytes",
            metavar="BYTES",
            help="partitions with smaller replicas stay as they are, such as 1GB (default: any may move)",
        )
    limits.add_argument(
        "--headroom",
        default=options.headroom,
        metavar="SHARE",
        help="the share of each broker's capacity that the plan leaves free (default: %(default)s)",
    )
    for name, limit in BROKER_LIMITS.items():
        limits.add_argument(
            f"--broker-max-{name.replace('_', '-')}",
            action="append",
            default=[],
            metavar=f"ID={limit.unit}",
            help=f"the most {limit.what} of a broker, such as {limit.example} (all={limit.example[2:]}: of each): what "
            "would be more does not come to it; may be repeated",
        )
    limits.add_argument(
        "--allow-fewer-racks",
        action="store_true",
        help="partitions may end on fewer racks than before, or less even over them, where the rules leave no other "
        "way: without this flag the exit code is 6",
    )
    limits.add_argument(
        "--max-moves-per-broker",
        metavar="N",
        help="the most moves at a time that copy to one broker, and as many that copy from it; of a batch, both "
        f"together (default: {batches.moves_per_broker}; at a time more or fewer, where the plan is done sooner)",
    )
    limits.add_argument(
        "--max-moves-per-batch",
        default=batches.moves_per_batch,
        metavar="N",
        help="the most moves of a batch (default: %(default)s)",
    )
    limits.add_argument(
        "--max-bytes-per-broker",
        metavar="BYTES",
        help="the most bytes that a batch copies to one broker, or from it (default: no limit)",
    )
    limits.add_argument(
        "--max-bytes-per-batch",
        metavar="BYTES",
        help="the most bytes that a batch copies, such as 2TiB (default: no limit)",
    )


def job_of(arguments: argparse.Namespace) -> "PlanJob":
    check_spark_arguments(arguments)
    from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
    from kafka_reassign_rpc.pipeline.store_paths import store_path
    from kafka_reassign_rpc.planner.goals_and_options import BatchLimits, Goal, GoalKind, PlanOptions
    from kafka_reassign_rpc.planner.network_limits import NetworkLimits

    kind = GoalKind(arguments.goal)
    topics = None if arguments.topics == ALL else arguments.topics
    factor = checked("--replication-factor", whole(1, 1000), getattr(arguments, "replication_factor", 1))
    goal = Goal(
        kind,
        broker_ids("--brokers", getattr(arguments, "brokers", None)),
        factor if kind is GoalKind.SET_FACTOR else 0,
        names_in("--topics", topics),
        racks=getattr(arguments, "racks", False),
        to=broker_ids("--to", getattr(arguments, "to", None)),
        parts=_parts(arguments),
        least_bytes=max(0, _limit("--least-bytes", getattr(arguments, "least_bytes", None))),
    )
    defaults = PlanOptions()
    network = NetworkLimits(
        checked("--bandwidth", byte_rate(1), arguments.bandwidth),
        _by_broker("--broker-bandwidth", "bandwidth, as 4=25MB", byte_rate(1), arguments.broker_bandwidth),
        -1 if arguments.throttle is None else checked("--throttle", byte_rate(1), arguments.throttle),
    )
    options = PlanOptions(
        seed=checked("--seed", whole(0), arguments.seed),
        tolerance=_tolerance(arguments, defaults.tolerance),
        headroom=checked("--headroom", share(0.0), arguments.headroom),
        max_bytes=checked("--max-bytes", byte_count(-1), getattr(arguments, "max_bytes", defaults.max_bytes)),
        weights=_weights(arguments.weight, kind == GoalKind.REBALANCE),
        network=network,
        lead_first=not arguments.leaders_stay,
        broker_weights=read_broker_weights(arguments.broker_weights),
        broker_max=_broker_limits(arguments),
        locality=getattr(arguments, "locality", False),
    )
    cap = arguments.max_moves_per_broker
    caps = BatchLimits(
        BatchLimits().moves_per_broker if cap is None else checked("--max-moves-per-broker", whole(1), cap),
        _limit("--max-bytes-per-broker", arguments.max_bytes_per_broker),
        _limit("--max-bytes-per-batch", arguments.max_bytes_per_batch),
        checked("--max-moves-per-batch", whole(1), arguments.max_moves_per_batch),
    )
    within = checked_if_given("--within", seconds(1), arguments.within)
    paths = store_path(arguments.snapshot), store_path(arguments.out)
    accepted = arguments.allow_fewer_racks
    return PlanJob(*paths, goal, options, caps, chooses_cap=cap is None, within=within, allow_fewer_racks=accepted)


def _tolerance(arguments: argparse.Namespace, default: float) -> float:
    for flag in ("until", "tolerance"):
        if (given := getattr(arguments, flag, None)) is not None:
            if arguments.goal == "combine" and arguments.expand is None:
                raise UsageError(f"--{flag} is about the brokers of --expand: give both")
            return checked(f"--{flag}", share(0.001), given)
    return default


def broker_ids(flag: str, text: str | None) -> tuple[int, ...]:
    return tuple(sorted({checked(flag, _BROKER, one) for one in names_in(flag, text)}))


def _parts(arguments: argparse.Namespace) -> "dict[GoalKind, tuple[int, ...]]":
    from kafka_reassign_rpc.planner.goals_and_options import GoalKind

    asked = ((kind, getattr(arguments, kind, None)) for kind in (GoalKind.HEAL, GoalKind.DRAIN, GoalKind.EXPAND))
    return {
        kind: () if brokers == ALL else broker_ids(f"--{kind}", brokers)
        for kind, brokers in asked
        if brokers is not None
    }


def names_in(flag: str, text: str | None) -> tuple[str, ...]:
    """() without the flag. An empty list is refused: it comes from an unset variable of a shell, and means all
    nowhere."""
    if text is None:
        return ()
    found = tuple(sorted({one.strip() for one in text.split(",") if one.strip()}))
    if not found:
        raise UsageError(f"{flag}: an empty list names nothing, and does not mean all")
    return found


def _broker_limits(arguments: argparse.Namespace) -> dict[str, dict[int, int]]:
    found = {}
    for name, limit in BROKER_LIMITS.items():
        flag, given = f"--broker-max-{name.replace('_', '-')}", getattr(arguments, f"broker_max_{name}")
        found[name] = _by_broker(flag, f"limit, as {limit.example}", limit.parse, given, parse_broker=_one_or_every)
    return {name: limits for name, limits in found.items() if limits}


def _one_or_every(text: str) -> int:
    from kafka_reassign_rpc.pipeline.planning.plan_input import EVERY_BROKER

    return EVERY_BROKER if text == "all" else _BROKER(text)


def _by_broker(
    flag: str,
    what: str,
    parse: Callable[[str], int],
    given: list[str],
    parse_broker: Callable[[str], int] = _BROKER,
) -> dict[int, int]:
    """`what`: is expected of each broker, with an example."""
    found = {}
    for text in given:
        broker, separator, value = text.partition("=")
        if not separator:
            raise UsageError(f"{flag}: expected a broker and its {what}, got {told(text)}")
        found[checked(flag, parse_broker, broker)] = checked(flag, parse, value)
    return found


def _weights(given: list[str], spreads_topics: bool) -> Any:
    from kafka_reassign_rpc.planner.goals_and_options import GoalWeights

    chosen = {}
    for text in given:
        name, _, value = text.partition("=")
        if name not in _WEIGHTS:
            raise UsageError(
                f"--weight: expected one of {', '.join(_WEIGHTS)} and a number, as bytes=2, got {told(text)}"
            )
        chosen[name] = checked("--weight", share(0.0, 1000.0), value)
    weights = GoalWeights(**chosen)
    if weights.spread_topics and not spreads_topics:
        raise UsageError("--weight: rebalance alone spreads topics (topic_replicas, topic_leaders)")
    if not any(weights.by_measure()) and not weights.spread_topics:
        raise UsageError("--weight: nothing is left to even out; topic alone moves nothing")
    return weights


def _limit(flag: str, value: Any) -> int:
    return -1 if value is None else checked(flag, byte_count(1), value)
