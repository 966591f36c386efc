"""`kafka-reassign-rpc plan show`: the moves of a plan, to review them. It reads files and starts no Spark."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from kafka_reassign_rpc.cli import plan_disks_command
from kafka_reassign_rpc.cli.pipeline_jobs import connected
from kafka_reassign_rpc.cli.value_parsers import whole
from kafka_reassign_rpc.support.connection_flags import PROPERTIES
from kafka_reassign_rpc.support.quiet_arguments import UsageError, checked, checked_if_given
from kafka_reassign_rpc.support.standard_output import ReaderGone, forget_output

if TYPE_CHECKING:
    from kafka_reassign_rpc.pipeline.plans.move_list import ListedMove, MoveFilter
    from kafka_reassign_rpc.pipeline.store_paths import StorePath
    from kafka_reassign_rpc.pipeline.submission.plan_difference import ComparedMove


HELP = "list the moves of a plan: chosen, sorted, summed"
DESCRIPTION = """\
List the moves of a plan: partition, replicas before and after, bytes that are copied, batch, reason. A move is shown if
it fits each flag that is given; of several values of a flag any may fit.

With --bootstrap-server each move is compared with the cluster as it is now: done, moving (in flight, or in the queue of
a kafka-reassign-rpc server), to begin, or it does not fit any more, and why. Nothing is changed. A topic that was
deleted and made again under the same name does not fit.
"""
EPILOG = """\
exit codes: 0 shown (with --bootstrap-server: all moves that are chosen fit the cluster), 1 failed or nothing is chosen,
            2 wrong flags or an unreadable plan, 4 some of the moves that are chosen do not fit the cluster any more
example:    kafka-reassign-rpc plan show plans/monday --topic 'orders-*' --sort bytes --limit 20
"""
CHANGED = 4
STATES = ("done", "moving", "to-begin", "changed")
SORTS = ("start", "topic", "bytes", "reason")
GROUPS = ("topic", "broker", "reason", "rule", "batch")
_MOST_VALUES = 1000
"""Values of a flag in all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="DIR", help="a plan that `kafka-reassign-rpc plan` wrote")
    for flag, metavar, text in (
        ("--topic", "a,b-*", "only moves of these topics, by name or pattern; may be repeated"),
        (
            "--broker",
            "4,5",
            "only moves that give one of these brokers a replica or take one from it, that it sends, or that make it "
            "the preferred leader or another one; may be repeated",
        ),
        ("--reason", "TEXT", "only moves with this text in their reason or rule; may be repeated"),
        ("--batch", "1,2", "only moves of these batches; may be repeated"),
    ):
        parser.add_argument(flag, action="append", default=[], metavar=metavar, help=text)
    parser.add_argument(
        "--sort",
        choices=SORTS,
        default=SORTS[0],
        help="the order: as moves start (default), by topic and partition, most bytes first, or by reason",
    )
    parser.add_argument(
        "--group", choices=GROUPS, help="show no moves but their sums by topic, broker, reason, rule or batch"
    )
    parser.add_argument("--limit", metavar="N", help="show at most this many moves or groups")
    parser.add_argument("--bootstrap-server", metavar="HOST:PORT[,…]", help="compare with the cluster of these nodes")
    parser.add_argument("--command-config", metavar="FILE", help=PROPERTIES)
    parser.add_argument(
        "--state",
        action="append",
        choices=STATES,
        default=[],
        help="with --bootstrap-server: only moves in this state; changed: those that do not fit; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="show each move as a JSON object on a line of its own")


def run(arguments: argparse.Namespace) -> int:
    if arguments.json and arguments.group:
        raise UsageError("--json: lists moves; leave out --group")
    if arguments.bootstrap_server is None and (arguments.state or arguments.command_config):
        raise UsageError("--state, --command-config: compare with a cluster; add --bootstrap-server")
    if arguments.bootstrap_server is not None and arguments.group:
        raise UsageError("--group: sums what the plan does; leave out --bootstrap-server")
    wanted = _wanted(arguments)
    limit = checked_if_given("--limit", whole(1), arguments.limit)
    try:
        return _show(arguments, wanted, limit)
    except ReaderGone:  # as `| head` does: no more is wanted
        forget_output()
        return 0


def _wanted(arguments: argparse.Namespace) -> "MoveFilter":
    from kafka_reassign_rpc.pipeline.plans.move_list import MoveFilter

    ids = [checked("--broker", whole(0, 2**31 - 1), one) for one in _listed("--broker", arguments.broker)]
    batches = [checked("--batch", whole(1, 2**31 - 1), one) for one in _listed("--batch", arguments.batch)]
    return MoveFilter(
        tuple(_listed("--topic", arguments.topic)), frozenset(ids), tuple(arguments.reason), frozenset(batches)
    )


def _listed(flag: str, given: list[str]) -> list[str]:
    """Joins the values of a flag that may be repeated and that takes lists."""
    found = [one.strip() for text in given for one in text.split(",") if one.strip()]
    if given and not found:
        raise UsageError(f"{flag}: names nothing")
    if len(found) > _MOST_VALUES:
        raise UsageError(f"{flag}: names {len(found)}; at most {_MOST_VALUES} are looked for at a time")
    return found


def _show(arguments: argparse.Namespace, wanted: "MoveFilter", limit: int | None) -> int:
    from kafka_reassign_rpc.pipeline.plans.move_list import MoveFilter, read_moves, topic_names
    from kafka_reassign_rpc.pipeline.plans.plan_summary import across_racks_text, rack_lines, read_kind, read_summary
    from kafka_reassign_rpc.pipeline.plans.plan_writer import require_all_moves
    from kafka_reassign_rpc.pipeline.store_paths import store_path

    plan = store_path(arguments.plan)
    if read_kind(plan) == plan_disks_command.DISKS:
        if arguments.group or arguments.bootstrap_server is not None:
            raise UsageError("a plan of disks: leave out --group, and let `submit` without --execute compare it")
        return plan_disks_command.show(plan, wanted, arguments.sort, limit, as_json=arguments.json)
    require_all_moves(plan)
    if wanted != MoveFilter() and next(read_moves(plan, wanted), None) is None:
        brokers = {broker for one in read_moves(plan, MoveFilter()) for broker in one.move.concerned}
        return plan_disks_command.nothing_chosen(wanted, topic_names(plan), brokers)
    if arguments.group:
        return _show_groups(plan, arguments.group, wanted, limit)
    if arguments.bootstrap_server is not None:
        return _show_difference(plan, arguments, wanted, limit)
    shown = _Shown(as_json=arguments.json)
    shown.print_all((one.move, None) for one in read_moves(plan, wanted, arguments.sort, limit))
    summary = read_summary(plan)
    of_all = [*filter(None, [across_racks_text(summary)]), *rack_lines(summary)]
    if shown.moves < summary.moves:
        of_all = [f"of the whole plan: {line}" for line in of_all]
    shown.end("\n".join(f"{plan}: {line}" for line in [shown.text, *of_all]))
    return 0


class _Shown:
    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self.moves = self._bytes = 0

    @property
    def text(self) -> str:
        from kafka_reassign_rpc.support.human_units import size

        return f"{self.moves} {'move' if self.moves == 1 else 'moves'} shown, {size(self._bytes)}"

    def print_all(self, moves: "Iterator[tuple[ListedMove, ComparedMove | None]]") -> None:
        for line in self._json_lines(moves) if self._as_json else self._text_lines(moves):
            sys.stdout.write(line + "\n")

    def end(self, summary: str) -> None:
        """JSON has no such line."""
        sys.stdout.write("" if self._as_json else summary + "\n")
        sys.stdout.flush()

    def _json_lines(self, moves: "Iterator[tuple[ListedMove, ComparedMove | None]]") -> Iterator[str]:
        import msgspec

        for move, compared in moves:
            state = {} if compared is None else {"state": compared.state, "why": compared.why}
            yield msgspec.json.encode({**move._asdict(), **state}).decode()

    def _text_lines(self, moves: "Iterator[tuple[ListedMove, ComparedMove | None]]") -> Iterator[str]:
        from kafka_reassign_rpc.pipeline.plans.move_texts import move_lines

        def counted() -> Iterator[tuple["ListedMove", str]]:
            for move, compared in moves:
                self.moves, self._bytes = self.moves + 1, self._bytes + move.bytes
                yield move, "" if compared is None else compared.text

        yield from move_lines(counted())


def _show_difference(plan: "StorePath", arguments: argparse.Namespace, wanted: "MoveFilter", limit: int | None) -> int:
    from kafka_reassign_rpc.pipeline.plans.batch_reader import read_plan, read_topic_ids
    from kafka_reassign_rpc.pipeline.plans.move_list import read_moves, topic_names
    from kafka_reassign_rpc.pipeline.submission.plan_difference import MoveState, compare, difference_text, look

    read = read_plan(plan)
    topic_ids = read_topic_ids(read)
    with connected(arguments) as client:
        now = look(client, read.summary.cluster_id, {name for name in topic_names(plan) if wanted.has_topic(name)})
    kinds: Counter[MoveState] = Counter()
    moves = compare((one.move for one in read_moves(plan, wanted, arguments.sort)), topic_ids, now, kinds)
    chosen = ((one.move, one) for one in moves if not arguments.state or one.state in arguments.state)
    shown = _Shown(as_json=arguments.json)
    shown.print_all(islice(chosen, limit))
    for _ in moves:  # those beyond the limit count too
        pass
    shown.end(f"{plan}: {difference_text(kinds)} ({shown.text})")
    return CHANGED if kinds[MoveState.CHANGED] else 0


def _show_groups(plan: "StorePath", by: str, wanted: "MoveFilter", limit: int | None) -> int:
    from kafka_reassign_rpc.pipeline.plans.move_list import broker_sums, group_sums, read_moves
    from kafka_reassign_rpc.pipeline.plans.move_texts import broker_rows, group_rows
    from kafka_reassign_rpc.support.text_table import columns_of, table

    moves = (one.move for one in read_moves(plan, wanted))
    rows = broker_rows(broker_sums(moves)) if by == "broker" else group_rows(by, group_sums(moves, by))
    shown = rows if limit is None else rows[: limit + 1]
    sys.stdout.write("\n".join(table(shown, columns_of(sys.stdout))) + "\n")
    if len(rows) > len(shown):
        sys.stdout.write(f"and {len(rows) - len(shown)} more\n")
    sys.stdout.flush()
    return 0
