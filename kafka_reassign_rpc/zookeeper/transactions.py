"""Sequences of transactions: split by size, fenced by the controller epoch, pipelined in order; and what became of them
if the connection was lost before ZooKeeper's answer.

Each transaction also writes a *receipt*: an ephemeral znode of this session, in one of its known versions. After a
lost connection with the session alive, the receipt shows what became of each transaction without an answer:

    its write of the receipt is there    carried out. The receipt's zxid and time are those of the whole transaction
    it is not                            this client writes the receipt itself, in the version that the transaction
                                         expects. From then on ZooKeeper refuses the transaction, should it still be on
                                         its way over the former connection: so it may be sent once more

All that is needed is that ZooKeeper compares versions. See docs/decisions/0008.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.jute import MULTI_OVERHEAD, new_stat, size_of
from kafka_reassign_rpc.zookeeper.operations import Check, Create, Op, Result, SetData, Stat
from kafka_reassign_rpc.zookeeper.zookeeper_client import AGAIN_S, Receipt, ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import (
    Answered,
    AnswerLost,
    BadVersion,
    BatchesFailed,
    Fenced,
    NodeExists,
    NoNode,
    NotEmpty,
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


class _Sent(NamedTuple):
    receipt: Receipt
    data: bytes


async def transact_many(
    zk: ZooKeeper, batches: Iterable[Sequence[Op]], session: int | None = None, fence: Check | None = None
) -> list[list[Result]]:
    """One after the other, each led by `fence`; returns the results of each. Waits for a lost connection for as long as
    the session (None: the present one) lives, finds out what was carried out, and sends the rest.

    Raises BatchesFailed if one is refused (the outcome of all others is known then), SessionOver, and Unknown if
    somebody else has changed the receipts.
    """
    todo = dict(enumerate(batches))
    done: dict[int, list[Result]] = {}
    if todo:
        session = zk.session_id if session is None else session
        if session is None:
            raise NotSent("no ZooKeeper session")
    while todo:
        assert session is not None
        await zk.connected_again(session)
        await _send(zk, todo, done, session, fence)
    return [done[index] for index in sorted(done)]


async def _send(
    zk: ZooKeeper, todo: dict[int, Sequence[Op]], done: dict[int, list[Result]], session: int, fence: Check | None
) -> None:
    """Once. Moves what is carried out from `todo` to `done`; raises if ZooKeeper has refused one."""
    indexes = list(todo)
    receipts: list[Receipt] = []
    sent: list[_Sent] = []

    def submit(ops: Sequence[Op], session: int | None) -> asyncio.Future[list[Result]]:
        """The transaction of `IN_FLIGHT` places before, which has used the same receipt, has been carried out."""
        place = len(sent)
        if place >= IN_FLIGHT:
            receipts[place % IN_FLIGHT].written()
        one = _Sent(receipts[place % IN_FLIGHT], b"%d" % next(zk.receipts.numbers))
        sent.append(one)
        head = () if fence is None else ops[:1]
        answer = zk.submit_multi([*head, one.receipt.write(one.data), *ops[len(head) :]], session)
        one.receipt.is_known = False
        return answer

    try:
        for _ in indexes[:IN_FLIGHT]:
            receipts.append(await _take(zk, session))  # noqa: PERF401 (those taken before an error are free again)
        results = await pipeline(submit, todo.values(), session, fence, IN_FLIGHT)
    except BatchesFailed as failure:
        await _take_account(zk, failure, indexes, sent, todo, done)
    else:
        for receipt in receipts:
            receipt.written()
        done.update((index, found[1:]) for index, found in zip(indexes, results, strict=True))
        todo.clear()
    finally:
        zk.receipts.free += [receipt for receipt in receipts if receipt.is_known]


async def _take(zk: ZooKeeper, session: int) -> Receipt:
    """It is there before the first transaction that uses it: so each has the zxid and the time of a write, which a
    ZooKeeper before 3.7 does not tell of what a transaction creates.
    """
    while zk.receipts.free:
        receipt = zk.receipts.free.pop()
        if receipt.session == session:
            return receipt
    receipt = Receipt(session, znode_paths.receipt(session, next(zk.receipts.numbers)))

    async def make() -> None:
        with suppress(NodeExists):  # no other session makes one of this name: only the answer was lost
            try:
                await zk.create(receipt.path, ephemeral=True, session=session)
            except NoNode:
                await zk.ensure_path(znode_paths.RECEIPTS)
                await zk.create(receipt.path, ephemeral=True, session=session)

    await zk.reading(make, session)
    return receipt


async def _take_account(
    zk: ZooKeeper,
    failure: BatchesFailed,
    indexes: list[int],
    sent: list[_Sent],
    todo: dict[int, Sequence[Op]],
    done: dict[int, list[Result]],
) -> None:
    """Finds out what is carried out. Raises unless the rest may be sent again."""
    for place, found in failure.done.items():
        done[indexes[place]] = found[1:]
        del todo[indexes[place]]
    for place, one in list(enumerate(sent))[-IN_FLIGHT:]:  # the last of each receipt
        if place in failure.done:
            one.receipt.written()
        elif place in failure.refused:
            one.receipt.is_known = not _is_about_receipt(failure.refused[place])
    refused = {indexes[place]: _without_receipt(error) for place, error in failure.refused.items()}
    lost: list[int] = []
    for place in failure.unknown:
        index = indexes[place]
        stat = await _outcome(zk, sent[place])
        if stat is None:
            lost.append(index)
        else:
            done[index] = await _results(zk, todo.pop(index), stat, sent[place].receipt.session)
    # ZooKeeper carries out a session's requests in their order: it has refused what is not done before one that is
    newest = max(done, default=-1)
    refused.update((index, TransactionFailed(0, AnswerLost())) for index in lost if index < newest)
    first = refused[min(refused)] if refused else failure.first
    if refused or isinstance(first, SessionOver):
        unsent = sorted(todo.keys() - refused.keys())
        raise BatchesFailed(done, refused, [], unsent, first)


def _is_about_receipt(error: ZkError) -> bool:
    """Somebody else has written or deleted it."""
    return isinstance(error, TransactionFailed) and error.index == 0


async def _outcome(zk: ZooKeeper, sent: _Sent) -> Stat | None:
    """The Stat that a transaction without an answer gave its receipt; None: it was not carried out, and never will
    be. Raises SessionOver, and Unknown if somebody else has written the receipt.
    """
    receipt, session, void = sent.receipt, sent.receipt.session, b"void " + sent.data
    while True:
        await zk.connected_again(session)
        try:
            await zk.set(receipt.path, void, receipt.version, session=session)
        except (NotSent, Unknown):
            await asyncio.sleep(AGAIN_S)
            continue
        except BadVersion:
            found = await zk.reading(lambda: zk.multi_get([receipt.path]), session)
        except NoNode:
            found = [None]
        else:
            receipt.written()
            return None
        data, stat = found[0] or (b"", None)
        if stat is None or data not in (sent.data, void):
            raise Unknown(f"the connection was lost before the answer, and somebody has changed {receipt.path}")
        receipt.written()
        return stat if data == sent.data else None


async def _results(zk: ZooKeeper, ops: Sequence[Op], receipt: Stat, session: int) -> list[Result]:
    """What ZooKeeper has answered to a transaction: all its operations have the zxid and the time of its receipt.

    The creation of a znode that existed before is read, unless somebody has deleted it since. Unknown are the
    digits of sequential znodes, and the version after a write over any version: the present one is taken for it.
    """
    paths = [op.path for op in ops if isinstance(op, SetData)]
    try:
        read = await zk.reading(lambda: zk.multi_get(paths), session)
    except Answered:
        read = [None] * len(paths)
    known = {path: found[1] for path, found in zip(paths, read, strict=True) if found is not None}
    results: list[Result] = []
    for op in ops:
        match op:
            case Create():
                results.append((op.path, new_stat(receipt.mzxid, receipt.mtime, op.data)))
            case SetData():
                stat = known.get(op.path)
                if stat is None or stat.czxid > receipt.mzxid:
                    stat = new_stat(receipt.mzxid, receipt.mtime, op.data)
                version = stat.version if op.version < 0 else op.version + 1
                results.append(
                    stat._replace(mzxid=receipt.mzxid, mtime=receipt.mtime, version=version, data_length=len(op.data))
                )
            case _:
                results.append(None)
    return results


async def transact(zk: ZooKeeper, ops: Sequence[Op], session: int | None = None) -> list[Result]:
    """As `ZooKeeper.multi`, in the same way. Raises TransactionFailed, TooBig, SessionOver, and NotSent without a
    session.
    """
    try:
        [results] = await transact_many(zk, [ops], session)
    except BatchesFailed as failure:
        raise failure.first from failure
    return results


async def transact_anew(zk: ZooKeeper, make: Callable[[], Awaitable[Sequence[Op]]], races: int) -> None:
    """As `transact`, once; not at all if `make` gives no operations. It reads what is there, and is called again where
    others were faster, `races` times in all; then the error of the operation at fault is raised. Parents that a new
    znode lacks are created. Passes on what `make` raises.
    """
    for left in reversed(range(races)):
        ops = await make()
        if not ops:
            return
        try:
            await transact(zk, ops)
        except TransactionFailed as failure:
            if not left or not isinstance(failure.error, BadVersion | NodeExists | NoNode | NotEmpty):
                raise failure.error from failure
            for op in ops if isinstance(failure.error, NoNode) else ():
                if isinstance(op, Create):
                    await zk.reading(partial(zk.ensure_path, op.path.rpartition("/")[0]))
        else:
            return


def _without_receipt(error: ZkError) -> ZkError:
    if isinstance(error, TransactionFailed) and error.index > 0:
        return TransactionFailed(error.index - 1, error.error)
    return error
