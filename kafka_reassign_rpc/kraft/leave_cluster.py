"""`leave` in front of KRaft: what of ours is left in a cluster goes, step by step.

It claims the state log, so no server leads meanwhile: none starts a move, and none tells the cluster anything. A term
without new moves then does what every term does: moves end, cancels restore the order, leases give former values back.
It remembers nothing itself: killed at any point, a server takes over, or the next run goes on.
"""

import asyncio
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.client.client_settings import ClientSettings
from kafka_reassign_rpc.client.request_routing import RequestRouter, connect
from kafka_reassign_rpc.controller.duties.learnt_settings import SettingsNotices
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesTerm
from kafka_reassign_rpc.controller.store import ControllerMoved
from kafka_reassign_rpc.core.settings.healing_settings import INTERVAL
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS, ENABLED
from kafka_reassign_rpc.core.state.queue_entries import StoredName, WaitingMove
from kafka_reassign_rpc.kraft import read_status, round_records
from kafka_reassign_rpc.kraft.ports import IntentLog
from kafka_reassign_rpc.kraft.read_status import Replayed
from kafka_reassign_rpc.kraft.round_records import Intents, Move, RoundRecord, Setting, Waiting
from kafka_reassign_rpc.kraft.sightings import settling
from kafka_reassign_rpc.kraft.state_log import TOPIC, log_topic
from kafka_reassign_rpc.kraft.state_log.state_log import StateLog
from kafka_reassign_rpc.kraft.term import Claimed, ClaimedLog, KRaftTerm
from kafka_reassign_rpc.kraft.term_duties import Asked
from kafka_reassign_rpc.kraft.upstream import Upstream
from kafka_reassign_rpc.kraft.upstream_cluster import UpstreamCluster
from kafka_reassign_rpc.leaving import kept_file
from kafka_reassign_rpc.leaving.kept_file import KeptFile
from kafka_reassign_rpc.leaving.leave import Choices, Stopped
from kafka_reassign_rpc.preflight.findings import partition_names, some
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.transport.broker_links import BrokerLinks

HOLD = {ENABLED: "false", INTERVAL: "-1"}
"""No move starts, and no repair begins to wait, also under a server that takes over from a run that was killed."""
NAME = "leave"
"""In the claim. It is no server's, so clients are sent to nobody."""
LOOK_S = 0.5
NOTHING_LEFT = "Nothing of kafka-reassign-rpc is left in this cluster."
IF_LOST = f"There is no topic {TOPIC}: if it was deleted while servers ran, look for throttles that are left."
WAITS = "waits until they end; --hand-over leaves them to the cluster, without throttles of leases"
SERVERS = "stop all servers, and keep them stopped: one that runs takes the lead again"


class What(StrEnum):
    """What of ours may be left in a cluster."""

    QUEUE = "queue"
    MOVES = "moves"
    LEASES = "leases"
    SETTINGS = "settings"
    EVENTS = "events"


ENDING = (What.QUEUE, What.MOVES, What.LEASES)
"""In this order: these end while this command leads. Then settings are taken back; events stay with the topic."""


class Left(NamedTuple):
    what: What
    text: str

    def __str__(self) -> str:
        return f"{self.what}: {self.text}"


class Cluster(NamedTuple):
    """configs, settings, links   how it is reached (`cli.cluster_access`)
    of_controllers             configs of a client of the controllers; None: throttles of dead brokers stay
    lead_s                     as the servers have it
    """

    configs: Mapping[str, Any]
    settings: ClientSettings
    links: BrokerLinks
    of_controllers: Mapping[str, Any] | None
    lead_s: float


async def leave(cluster: Cluster, choices: Choices, *, delete_topic: bool) -> None:
    """Raises Stopped, LogError, KafkaError, WrongFile, OSError."""
    router = await connect(cluster.settings)
    try:
        await log_topic.require_kraft(router)
        if not await log_topic.is_there(router, TOPIC):
            choices.say(f"{NOTHING_LEFT} {IF_LOST}")
            return
        await _leave(cluster, choices, router, delete_topic=delete_topic)
    except ControllerMoved as reason:
        raise Stopped(f"{reason}; {SERVERS}; then run this command again") from None
    finally:
        await router.close()


async def _leave(cluster: Cluster, choices: Choices, router: RequestRouter, *, delete_topic: bool) -> None:
    log = StateLog(cluster.settings, server=NAME, lead_s=cluster.lead_s)
    await log.open()
    try:
        found = await read_status.replay(log)
        _show(found, choices, delete_topic=delete_topic)
        if not await choices.ask("hold: this command leads from now on, so that no server starts a move."):
            raise Stopped("nothing was changed")
        term = await log.claim()
        found = await read_status.replay(log)
        claimed = ClaimedLog(log, NAME, cluster.lead_s)
        await _empty(cluster, choices, claimed, found.intents, term.claim_offset)
        await _end_topic(choices, router, delete_topic=delete_topic)
    finally:
        await log.close()


def _show(found: Replayed, choices: Choices, *, delete_topic: bool) -> None:
    choices.say("What is left of kafka-reassign-rpc in this cluster, in the order in which it goes:")
    leader = read_status.leader_of(found, now_ms())
    if leader is not None:
        choices.say(f"  servers: {leader} leads: {SERVERS}")
    for one in what_is_left(found.intents):
        choices.say(f"  {one}")
    kept = "" if delete_topic else ", which stays: --delete-topic takes it away"
    choices.say(f"  topic: the state log {TOPIC}{kept}")


def what_is_left(intents: Intents) -> Iterator[Left]:
    waiting, moving = waiting_moves(intents), partition_names(intents.moves)
    if waiting:
        yield Left(What.QUEUE, f"{counted(len(waiting), 'move')} that {agreeing(len(waiting), 'wait')} for a turn")
    if moving:
        are = f"{counted(len(moving), 'partition')} {agreeing(len(moving), 'are')}"
        yield Left(What.MOVES, f"{are} moving ({some(moving)})")
    if intents.memories:
        names = some(sorted(f"{one.kind}/{one.name}" for one in intents.memories))
        yield Left(What.LEASES, f"throttles have changed configs of {names}")
    if intents.set_now:
        yield Left(What.SETTINGS, f"{some(sorted(intents.set_now))} of all servers")
    if intents.outcomes:
        yield Left(What.EVENTS, f"{counted(len(intents.outcomes), 'outcome')} of moves that no event log may have")


def waiting_moves(intents: Intents) -> dict[StoredName, WaitingMove]:
    """In order."""
    return {name: move for part in intents.queue.values() for name, move in part.entries.items()}


async def _empty(
    cluster: Cluster,
    choices: Choices,
    claimed: ClaimedLog,
    intents: Intents,
    epoch: int,
) -> None:
    """Raises Stopped."""
    upstream = Upstream(cluster.configs, lambda: claimed.lease_left > 0, cluster.of_controllers)
    await upstream.start()
    try:
        seen = UpstreamCluster(upstream, cluster.settings.configs.security_protocol)
        async with claimed.kept():
            if choices.export is not None:
                await seen.look([])
                _keep(choices, seen.cluster_id, intents)
            if choices.hand_over:
                await _hand_over(choices, claimed, intents)
            before = {name: intents.set_now.get(name) for name in HOLD}
            await _set(claimed, intents, HOLD)
        try:
            async with claimed.kept():
                await withdraw(claimed, choices, intents)
            await _ended(_term(cluster, claimed, intents, seen, epoch), choices, intents, claimed)
        except Stopped:
            await _set(claimed, intents, before)  # servers go on as they did
            raise
    finally:
        await upstream.close()


def _keep(choices: Choices, cluster_id: str, intents: Intents) -> None:
    """Before anything goes. Raises WrongFile, OSError."""
    assert choices.export is not None
    before = kept_file.load(choices.export, cluster_id)
    kept = kept_file.with_moves(before.kept, waiting_moves(intents), intents.moves, intents.set_now)
    kept_file.save(KeptFile(choices.export, kept))
    moves = counted(len(kept_file.waiting(kept)), "waiting move")
    choices.say(f"export: {choices.export} keeps {moves}, originals and settings; `serve --import` takes it in")


async def _hand_over(choices: Choices, claimed: ClaimedLog, intents: Intents) -> None:
    if not intents.moves:
        return
    moving = counted(len(intents.moves), "move")
    text = f"moves: {moving} in flight go on without us: without throttles, and a cancel does not restore the order."
    if not await choices.ask(text):
        raise Stopped("nothing was changed")
    await _commit(claimed, intents, RoundRecord(at=now_ms(), moves=[Move(*name) for name in intents.moves]))


async def withdraw(log: IntentLog, choices: Choices, intents: Intents) -> None:
    """What waits leaves the queue, also behind a move in flight, which is left alone. Raises Stopped."""
    if not (waiting := waiting_moves(intents)):
        return
    count = counted(len(waiting), "move")
    if not await choices.ask(
        f"queue: {count} that {agreeing(len(waiting), 'wait')} never {agreeing(len(waiting), 'start')}."
    ):
        raise Stopped("no further step was taken; servers that run go on with what waits")
    left = [Waiting(number, *name) for number, part in intents.queue.items() for name in part.entries]
    await _commit(log, intents, RoundRecord(at=now_ms(), waiting=left))
    choices.say("queue: done")


async def _set(claimed: ClaimedLog, intents: Intents, settings: Mapping[str, str | None]) -> None:
    record = RoundRecord(at=now_ms(), settings=[Setting(name, value) for name, value in settings.items()])
    await _commit(claimed, intents, record)


async def _commit(log: IntentLog, intents: Intents, record: RoundRecord) -> None:
    pieces = list(round_records.documents(record))
    offset = await log.commit([data for _, data in pieces])
    for piece, _ in pieces:
        for _step in intents.apply(piece, offset):
            pass


def _term(cluster: Cluster, claimed: ClaimedLog, intents: Intents, seen: UpstreamCluster, epoch: int) -> KRaftTerm:
    """One in which no move starts. Its outcomes stay in the log: a server may still record them."""
    return KRaftTerm(
        Claimed(claimed, intents, epoch),
        seen,
        now_ms,
        lambda _events: None,
        Asked(cluster.links),
        replace(DEFAULT_SETTINGS, enabled=False),
        written=_never,
        settling=settling(cluster.lead_s, cluster.settings.configs.request_timeout_ms / 1000),
        notices=SettingsNotices(),
    )


async def _never() -> None:
    await asyncio.Event().wait()


async def _ended(term: KRaftTerm, choices: Choices, intents: Intents, claimed: ClaimedLog) -> None:
    """Returns once nothing waits, nothing moves and no lease is in force. Raises Stopped."""
    begun: asyncio.Future[MovesTerm] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(term.serve(begun.set_result))
    try:
        either: list[asyncio.Future[Any]] = [begun, serving]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if begun.done() and not serving.done():
            await _until_empty(serving, choices, intents)
            await _set(claimed, intents, dict.fromkeys(intents.set_now))
        if serving.done():
            raise ControllerMoved(str(claimed.trouble or serving.result()))
    finally:
        await end(serving)


async def _until_empty(serving: "asyncio.Task[str]", choices: Choices, intents: Intents) -> None:
    """Raises Stopped."""
    loop, said = asyncio.get_running_loop(), None
    deadline = None if choices.wait_s is None else loop.time() + choices.wait_s
    while not serving.done():
        first = next((one for one in what_is_left(intents) if one.what in ENDING), None)
        if first is None:
            return
        if first.what is not said:
            said = first.what
            choices.say(f"{first}: {WAITS if first.what is What.MOVES else 'they are taken back'}")
        if deadline is not None and loop.time() >= deadline:
            raise Stopped(f"{first}; servers go on with it, or run this command again")
        await asyncio.wait([serving], timeout=LOOK_S)


async def _end_topic(choices: Choices, router: RequestRouter, *, delete_topic: bool) -> None:
    if not delete_topic:
        choices.say(f"Nothing waits, moves or is throttled by kafka-reassign-rpc. The topic {TOPIC} stays: {SERVERS};")
        choices.say("then --delete-topic takes it away.")
        return
    question = (
        f"topic: {TOPIC} is deleted, and with it who led, and outcomes that no event log has. {SERVERS.capitalize()}."
    )
    if not await choices.ask(question):
        raise Stopped("the topic stays")
    await log_topic.delete(router, TOPIC)
    choices.say(NOTHING_LEFT)
