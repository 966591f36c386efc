"""Writes what is left to do, step by step. It remembers nothing, so a run may be killed anywhere."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.leaving import facts as facts_module
from kafka_reassign_rpc.leaving import kept_file, steps
from kafka_reassign_rpc.leaving.facts import Facts
from kafka_reassign_rpc.leaving.kept_file import KeptFile
from kafka_reassign_rpc.leaving.steps import Act, Step
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Check
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import (
    BadVersion,
    NodeExists,
    NoNode,
    NotEmpty,
    NotSent,
    TransactionFailed,
    Unknown,
)

LOOK_S = 1.0
"""While it waits; ten times the last look where that took longer."""
RACES = 20
"""Tries of a step whose znodes others change, or whose connection is lost."""
_CHANGED = (BadVersion, NoNode, NodeExists, NotEmpty)


class Stopped(Exception):
    """The operator has to act, or does not want to go on."""


class Choices(NamedTuple):
    """history    asks the controller's endpoints for it; None: without it
    hand_over  moves in flight go on under a stock controller
    wait_s     the longest wait for others; None: no limit
    """

    say: Callable[[str], None]
    ask: Callable[[str], Awaitable[bool]]
    export: Path | None = None
    history: Callable[[Facts], Awaitable[Any]] | None = None
    hand_over: bool = False
    wait_s: float | None = None


async def leave(zk: ZooKeeper, choices: Choices) -> None:
    """Raises Stopped, ZkError, WrongFile, OSError."""
    loop = asyncio.get_running_loop()
    shown = False
    waits_for: str | None = None
    deadline: float | None = None
    agreed: Step | None = None
    races = 0
    while True:
        begun = loop.time()
        found = await zk.reading(lambda: facts_module.read(zk))
        left = steps.steps(found, hand_over=choices.hand_over)
        if not left:
            choices.say("Nothing of kafka-reassign-rpc is left in this cluster.")
            return
        if not shown:
            _show(left, choices)
            shown = True
        step = left[0]
        if choices.export is not None:
            await _keep(choices.export, found, step, choices)
        if step.act is Act.STOP:
            raise Stopped(_to_do(step))
        if step.act is Act.WAIT:
            now = loop.time()
            if waits_for != step.subject:
                waits_for, deadline = step.subject, None if choices.wait_s is None else now + choices.wait_s
                choices.say(f"{step.subject}: waits, {step.text}. What to do: {step.advice}")
            if deadline is not None and now >= deadline:
                raise Stopped(_to_do(step))
            await asyncio.sleep(max(LOOK_S, 10 * (now - begun)))
            continue
        waits_for = None
        if agreed != step:
            if not await choices.ask(f"{step.subject}: {step.text}."):
                raise Stopped(_declined(found))
            agreed = step
            continue  # the answer may have taken long: what is written is what was asked about
        try:
            await _write(zk, found, step)
        except (Unknown, NotSent, TransactionFailed) as error:
            races += 1
            if races > RACES or (isinstance(error, TransactionFailed) and not isinstance(error.error, _CHANGED)):
                raise
            choices.say(f"{step.subject}: looks again ({error})")
            continue
        races = 0
        choices.say(f"{step.subject}: done")


def _show(left: Sequence[Step], choices: Choices) -> None:
    choices.say("What is left of kafka-reassign-rpc in this cluster, in the order in which it goes:")
    for step in left:
        choices.say(f"  {step.subject}: {step.text}{f' ({step.advice})' if step.act is not Act.DO else ''}")


def _to_do(step: Step) -> str:
    return f"{step.subject}: {step.text}. What to do: {step.advice}; then run this command again"


def _declined(found: Facts) -> str:
    if found.state.cluster.disabled_by_znode:
        return f"no further step was taken; no new move starts while {znode_paths.REASSIGN_CANCEL} exists"
    return "no further step was taken"


async def _write(zk: ZooKeeper, found: Facts, step: Step) -> None:
    """Fails if a server of ours is elected meanwhile: that changes the epoch."""
    fence = [] if found.epoch is None else [Check(znode_paths.CONTROLLER_EPOCH, found.epoch)]
    for ops in step.writes:
        await zk.multi([*fence, *ops])


async def _keep(path: Path, found: Facts, step: Step, choices: Choices) -> None:
    """Comes before anything is destroyed. A wrong file is found before moves are held; what waits then may still start,
    and would stay in the file.
    """
    before = kept_file.load(path, found.state.cluster_id or "")
    if step.subject in {"unreadable", "hold"}:
        return
    kept = kept_file.with_facts(before.kept, found)
    owner = found.state.controller.owner
    if kept.history is None and choices.history is not None and owner is not None and owner.id in found.servers:
        kept = replace(kept, history=await choices.history(found))
    if before.is_new or kept != before.kept:
        kept_file.save(KeptFile(path, kept))
        moves = kept_file.waiting(kept)
        held = sum(not one.may_start for one in moves.values())
        which = f" ({held} of them held or unapproved: only `queue` has these)" if held else ""
        kept_moves = f"{counted(len(moves), 'waiting move')}{which}"
        choices.say(f"export: {path} keeps {kept_moves}, originals, settings and history")
