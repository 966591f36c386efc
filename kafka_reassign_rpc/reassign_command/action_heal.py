"""`kafka-reassign heal`: shows failed brokers and their repairs, repairs one now, pauses self-healing (KIP-46)."""

import argparse
from typing import Any

from kafka_reassign_rpc.client import (
    BrokerRepair,
    FailedBroker,
    GoneBroker,
    HealingStatus,
    LogDirFailure,
    Repair,
    RepairCost,
)
from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.healing.repair_targets import UNKNOWN_COST
from kafka_reassign_rpc.core.healing.self_healing_status import Lost, cost_text, left_to_moves, what_and_fate
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import nothing_matched
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand, broker_ids, number_of
from kafka_reassign_rpc.support.counted import counted, plural, those
from kafka_reassign_rpc.support.human_units import utc_time
from kafka_reassign_rpc.support.typed_commands import command

MOVES_SHOWN = 20
"""The number of moves that a dry run lists as text."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="show the repair (of the broker of --now, or of every lost broker) and change nothing",
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument(
        "--status", action="store_true", help="show lost brokers and the state of their repairs (this is the default)"
    )
    action.add_argument(
        "--now",
        type=number_of("the id of a broker", INT32),
        metavar="BROKER",
        help="repair this lost broker now, without waiting for failure.interval.ms",
    )
    action.add_argument(
        "--pause", action="store_true", help="start no repair until --resume, nor moves of repairs that wait"
    )
    action.add_argument(
        "--approve",
        action="store_true",
        help="let repairs start that wait for approval (self.healing.approval=required); see --brokers",
    )
    action.add_argument("--resume", action="store_true", help="undo --pause")
    parser.add_argument(
        "--brokers",
        type=broker_ids,
        metavar="3,7",
        help="with --approve: the repairs of these brokers (default: all that wait)",
    )


def _problem(found: argparse.Namespace) -> str | None:
    if found.dry_run and (found.pause or found.resume or found.approve):
        return "--dry-run goes with --now, or alone"
    return "--brokers goes with --approve" if found.brokers is not None and not found.approve else None


def _run(context: ActionContext, found: argparse.Namespace) -> None:
    if found.pause or found.resume:
        _switch(context, paused=found.pause)
    elif found.approve:
        _approve(context, found.brokers)
    elif found.dry_run:
        _dry_run(context, found.now)
    elif found.now is not None:
        _heal(context, found.now)
    else:
        _status(context)


def _switch(context: ActionContext, *, paused: bool) -> None:
    context.client.pause_healing() if paused else context.client.resume_healing()
    context.output.collect(paused=paused)
    context.output.line(
        "Healing is paused: no repair starts until --resume, nor do moves of repairs that wait. Moves in flight go on."
        if paused
        else "Healing is not paused any more."
    )


def _approve(context: ActionContext, brokers: frozenset[int] | None) -> None:
    found = context.client.approve_repairs(brokers)
    if brokers and not found.approved:
        raise nothing_matched(context.client, "No such repair waits for approval", brokers=brokers)
    context.output.collect(approved=found.approved, held=found.held, brokers=list(found.brokers))
    if not found.approved:
        context.output.line("No repair waits for approval.")
        return
    of = f" of {those(found.brokers, most=len(found.brokers))}" if found.brokers else ""
    context.output.line(f"{counted(found.approved, 'move')} of the repair{of} may start.")
    if found.held:
        context.output.line(
            f"{counted(found.held, 'move', 'are')} also held: {command('kafka-reassign release', '--all')}"
        )


def _status(context: ActionContext) -> None:
    status = context.client.healing_status()
    context.output.collect(**status_document(status))
    context.output.lines(status_lines(status))


def status_document(status: HealingStatus) -> dict[str, Any]:
    return {
        "intervalMs": status.interval_ms,
        "paused": status.paused,
        "approvalRequired": status.approval,
        "heldBack": status.held_back,
        "waitingMoves": status.waiting,
        "activeMoves": status.moving,
        "failedBrokers": [_lost_document(one, {}) for one in status.failed],
        "failedLogDirs": [_lost_document(one, {"logDirs": list(one.paths)}) for one in status.log_dirs],
        "goneBrokers": [
            {
                "broker": one.broker,
                "since": one.since,
                "repaired": one.repaired,
                "awaited": one.awaited,
                **_fate_document(one),
            }
            for one in status.gone
        ],
        "problems": list(status.problems),
        "repairs": [
            {
                "broker": one.broker,
                "activeMoves": one.moving,
                "waitingMoves": one.waiting,
                "unapprovedMoves": one.unapproved,
                "heldMoves": one.held,
                "isBack": one.is_back,
                **_cost_document(one.cost),
                **_fate_document(one),
            }
            for one in status.repairs
        ],
    }


def _lost_document(one: FailedBroker | LogDirFailure, which: dict[str, Any]) -> dict[str, Any]:
    return {
        "broker": one.broker,
        **which,
        "since": one.since,
        "healAt": one.heal_at,
        "replicas": one.replicas,
        "impossible": one.impossible,
        **_cost_document(one.cost),
        **_fate_document(one),
    }


def status_lines(status: HealingStatus) -> list[str]:
    if status.interval_ms is None:
        lines = ["Healing is off (failure.interval.ms=-1)."]
    else:
        lines = [f"A broker that is gone for {status.interval_ms / 1000:g} s is healed (failure.interval.ms)."]
    if status.approval:
        lines.append("Each repair waits until it is approved (self.healing.approval=required).")
    if status.paused:
        lines.append("Healing is paused.")
    lines += [_line(f"gone since {utc_time(one.since)} UTC", one) for one in status.failed]
    lines += [_line(f"gone{_since(one)}", one) for one in status.gone]
    lines += [_line(f"{_log_dirs(one)} failed since {utc_time(one.since)} UTC", one) for one in status.log_dirs]
    lines += [_line("", one) for one in status.other_repairs]
    if not status.failed and not status.log_dirs and not status.repairs and not status.gone:
        lines.append("No broker that holds replicas is lost.")
    if status.held_back is not None:
        lines.append(f"Held back: {status.held_back}.")
    lines += [f"Problem: {problem}." for problem in status.problems]
    if status.waiting or status.moving:
        lines.append(f"Repairs: {status.moving} move{plural(status.moving)} in flight, {status.waiting} waiting.")
    return lines


def _line(what: str, one: Lost | BrokerRepair) -> str:
    """The line of a broker; its command comes last."""
    told = ", ".join(filter(None, (what, what_and_fate(one))))
    return f"Broker {one.broker}: {told}" + (f": {one.command}" if one.command else "")


def _since(one: GoneBroker) -> str:
    return "" if one.since is None else f" since {utc_time(one.since)} UTC"


def _log_dirs(one: LogDirFailure) -> str:
    paths = ", ".join(one.paths)
    return f"log dir{plural(len(one.paths))} {paths}" if paths else "a log dir, which it does not name,"


def _lost(status: HealingStatus) -> list[FailedBroker | LogDirFailure]:
    return [*status.failed, *(one for one in status.log_dirs if one.replicas is not None)]


def _dry_run(context: ActionContext, broker: int | None) -> None:
    status = context.client.healing_status() if broker is None else None
    lost = [] if status is None else _lost(status)
    begun = [] if status is None else status.repairs
    brokers = [one.broker for one in lost if one.replicas] if broker is None else [broker]
    repairs = {one: context.client.heal_broker(one, dry_run=True) for one in brokers}
    context.output.collect(repairs=[_repair_document(one, repair) for one, repair in repairs.items()], dryRun=True)
    if not repairs and not lost and not begun:
        context.output.line("No broker that holds replicas is lost.")
    for failed in lost:
        if not failed.replicas:
            context.output.line(f"Broker {failed.broker}: {failed.fate or left_to_moves(failed)}")
    for one, repair in repairs.items():
        context.output.line(f"Broker {one}: {_summary(repair)}")
        for move in repair.moves[:MOVES_SHOWN]:
            context.output.line(f"  {move.partition}: {list(move.replicas)} -> {list(move.target)}")
        if len(repair.moves) > MOVES_SHOWN:
            context.output.line(f"  … and {len(repair.moves) - MOVES_SHOWN} more (--json shows all)")
        _show_left_out(context, repair)
    for under_way in begun:
        how = f"{command('kafka-reassign', '--list')} shows where its replicas go"
        context.output.line(f"Broker {under_way.broker}: its repair is in the queue or under way: {how}")


def _heal(context: ActionContext, broker: int) -> None:
    repair = context.client.heal_broker(broker)
    context.output.collect(repairs=[_repair_document(broker, repair)], dryRun=False)
    context.output.line(f"Broker {broker}: {_summary(repair)}{' joined the queue' if repair.moves else ''}.")
    _show_left_out(context, repair)


def _summary(repair: Repair) -> str:
    if not repair.moves:
        return "nothing can be repaired now" if repair.left_out else "nothing to repair"
    cost = cost_text(RepairCost(repair.bytes, repair.copy_ms, repair.unsized))
    return ", ".join(filter(None, (counted(len(repair.moves), "move"), cost)))


def _cost_document(cost: RepairCost | None) -> dict[str, int | None]:
    """null is what is not known."""
    known = cost or UNKNOWN_COST
    return {"bytes": known.bytes, "copyMs": known.copy_ms, "unsizedCopies": known.unsized}


def _fate_document(one: Lost | BrokerRepair) -> dict[str, str | None]:
    return {"fate": one.fate, "command": one.command or None}


def _show_left_out(context: ActionContext, repair: Repair) -> None:
    for partition, reason in list(repair.left_out.items())[:MOVES_SHOWN]:
        context.output.line(f"  {partition} stays as it is: {reason}")
    if len(repair.left_out) > MOVES_SHOWN:
        context.output.line(f"  … and {len(repair.left_out) - MOVES_SHOWN} more")


def _repair_document(broker: int, repair: Repair) -> dict[str, object]:
    return {
        "broker": broker,
        **_cost_document(RepairCost(repair.bytes, repair.copy_ms, repair.unsized)),
        "moves": [
            {
                "topic": move.partition.topic,
                "partition": move.partition.partition,
                "replicas": list(move.replicas),
                "target": list(move.target),
            }
            for move in repair.moves
        ],
        "leftOut": [
            {"topic": partition.topic, "partition": partition.partition, "reason": reason}
            for partition, reason in repair.left_out.items()
        ],
    }


COMMAND = OurCommand(
    "heal",
    "show and repair lost brokers, pause self-healing",
    "Self-healing: the controller moves the replicas of brokers that are lost to other brokers. This command shows "
    "lost brokers, repairs one of them now, and pauses self-healing.",
    _run,
    _add_arguments,
    _problem,
    "To switch self-healing on for the cluster, set failure.interval.ms with `kafka-reassign settings`: the "
    "milliseconds for which a broker has to be gone before its repair (-1, the default: never).",
)
