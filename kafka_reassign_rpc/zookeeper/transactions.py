"""Sequences of transactions: split by size, fenced by the controller epoch, pipelined in order."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper.jute import MULTI_OVERHEAD, size_of
from kafka_reassign_rpc.zookeeper.operations import Check, Op, Result
from kafka_reassign_rpc.zookeeper.zookeeper_errors import (
    BatchesFailed,
    Fenced,
    NotSent,
    SessionOver,
    TooBig,
    TransactionFailed,
    Unknown,
    ZkError,
)

MAX_MULTI_BYTES = 512 << 10
"""A transaction should stay below this size: ZooKeeper 3.8 counts more against its packet limit between its servers."""
MAX_STEP_BYTES = 1_048_575 - 1024
"""Bytes of one write. ZooKeeper closes the connection on a packet of 1 MiB; fence, receipt and headers need some
room."""
MAX_OPERATIONS = 1000
"""Operations of one transaction: larger ones would hold up ZooKeeper's single writer for too long."""

IN_FLIGHT = 4
"""Transactions of one sequence that are under way at a time."""

Submit = Callable[[Sequence[Op], int | None], asyncio.Future[list[Result]]]


def split_ops(ops: Iterable[Op], max_bytes: int = MAX_MULTI_BYTES, max_ops: int = MAX_OPERATIONS) -> Iterator[list[Op]]:
    """Keeps the order. An operation above `max_bytes` gets a batch of its own."""
    batch: list[Op] = []
    size = MULTI_OVERHEAD
    for op in ops:
        cost = size_of(op)
        if batch and (size + cost > max_bytes or len(batch) >= max_ops):
            yield batch
            batch, size = [], MULTI_OVERHEAD
        batch.append(op)
        size += cost
    if batch:
        yield batch


def _without_fence(failure: TransactionFailed, epoch: Check) -> ZkError:
    if failure.index == 0:
        return Fenced(f"{epoch.path} is not at version {epoch.version} any more: {failure.error}")
    return TransactionFailed(failure.index - 1, failure.error)


async def pipeline(
    submit: Submit,
    batches: Iterable[Sequence[Op]],
    session: int | None = None,
    fence: Check | None = None,
    in_flight: int = IN_FLIGHT,
) -> list[list[Result]]:
    """Sends transactions one after the other, several in flight; returns the results of each.

    Stops sending at the first failure and raises BatchesFailed. Batches in flight behind a refused one may have been
    applied: a batch that must not be needs a check of its own. `fence` goes before every batch, and is not among its
    results; if it fails, the error is Fenced.
    """
    source = enumerate(batches)
    done: dict[int, list[Result]] = {}
    refused: dict[int, ZkError] = {}
    unknown: list[int] = []
    unsent: list[int] = []
    first: ZkError | None = None
    flying: deque[tuple[int, asyncio.Future[list[Result]]]] = deque()

    def failed(index: int, error: ZkError) -> None:
        nonlocal first
        if isinstance(error, TransactionFailed) and fence is not None:
            error = _without_fence(error, fence)
        if isinstance(error, Unknown):
            unknown.append(index)
        elif isinstance(error, NotSent | SessionOver):
            unsent.append(index)
        else:
            refused[index] = error
        first = first or error

    async def land() -> None:
        index, future = flying.popleft()
        try:
            results = await future
        except ZkError as error:
            failed(index, error)
        else:
            done[index] = results if fence is None else results[1:]

    pace = Pace()
    try:
        for index, batch in source:
            try:
                flying.append((index, submit(batch if fence is None else [fence, *batch], session)))
            except (NotSent, SessionOver, TooBig) as error:
                failed(index, error)
            await pace.rest()  # encoding a batch takes milliseconds
            while flying and (len(flying) >= in_flight or flying[0][1].done()):
                await land()
            if first is not None:
                break
        while flying:
            await land()
    finally:
        for _, future in flying:
            future.cancel()
    if first is not None:
        unsent += [index for index, _ in source]
        raise BatchesFailed(done, refused, unknown, sorted(unsent), first)
    return [done[index] for index in sorted(done)]
