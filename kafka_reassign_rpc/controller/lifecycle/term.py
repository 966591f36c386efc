"""One term as the controller, from the election to the resignation:

load        read the cluster; from here on APIs are served
fail over   make durable what `core.failover` decides, before any other command
propagate   brokers learn the controller and the whole state
watch       from now on, changes in ZooKeeper become commands
work        the loop and the duties (`term_duties`) run until the controller moves

Before brokers are sent anything, some are asked what they know of topics that others may have edited while no
controller ran: from then on they know what ZooKeeper has.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import msgspec

from kafka_reassign_rpc.controller.duties.term_tasks import MOVED, TermTasks
from kafka_reassign_rpc.controller.lifecycle.controller_service import TermServices
from kafka_reassign_rpc.controller.lifecycle.term_duties import Surroundings, TermDuties, mark_last_control
from kafka_reassign_rpc.controller.loading.load_cluster import LoadedCluster
from kafka_reassign_rpc.controller.store import ControllerMoved, ReloadNeeded
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import FencedZooKeeper, ZooKeeperStore
from kafka_reassign_rpc.controller_channel import Sender
from kafka_reassign_rpc.core import failover
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.failover import Edits, LastControl, Told, highest_epoch, is_believable
from kafka_reassign_rpc.core.kafka_errors import NotController, RequestTimedOut
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import LAST_ZXID, Topic
from kafka_reassign_rpc.core.state.queue_entries import Held
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.reload import mark_put_back
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.server import process_limits
from kafka_reassign_rpc.support.counted import counted, first_of
from kafka_reassign_rpc.support.turns import Pace, in_turns
from kafka_reassign_rpc.support.typed_commands import command
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.transport.broker_answers import known_topics
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.transport.rpc_client import NoCommonVersion
from kafka_reassign_rpc.zookeeper import own_server_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, WatchKind
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode, decode_json
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

log = logging.getLogger(__name__)

SHOWN = 5
"""How many partitions a line of the log names."""

ENABLED = 1
NO_FEATURES = msgspec.json.encode({"version": 1, "status": ENABLED, "features": {}})


class _Feature(msgspec.Struct):
    """What Kafka reads (FeatureZNode.decode). Status 0: the features are disabled."""

    version: Annotated[int, msgspec.Meta(ge=1)]
    status: Literal[0, 1]
    features: dict[str, Any]


_decoder = msgspec.json.Decoder(_Feature)


async def ensure_feature_znode(store: FencedZooKeeper) -> None:
    """`/feature`: the finalized features of the cluster (KIP-584), in ZooKeeper mode none. Kafka:
    KafkaController.maybeSetupFeatureVersioning.

    A znode that exists stays as it is; garbage is logged, since a controller of Kafka fails at it. A new one is written
    in version 1: brokers before 3.3 read no other, and a later controller of Kafka rewrites it at its failover. Raises
    ControllerMoved, ReloadNeeded.
    """
    (found,) = await store.read([znode_paths.FEATURE])
    if found is None:
        await store.write([Create(znode_paths.FEATURE, NO_FEATURES)])
        return
    try:
        decode_json(_decoder, found[0], znode_paths.FEATURE)
    except BadZnode as error:
        log.warning("a controller of Kafka would fail at this znode, which stays as it is: %s", error)


class Term:
    """Any part that notices another controller ends the term with `controller_moved`."""

    def __init__(self, around: Surroundings, store: ZooKeeperStore, sender: Sender) -> None:
        self._around = around
        self._store = store
        self._sender = sender
        self._tasks = TermTasks()
        self._cluster = Cluster()
        self._duties: TermDuties | None = None
        """None until the cluster is loaded."""

    @property
    def brokers(self) -> Mapping[int, Broker]:
        return self._cluster.brokers

    @property
    def topics(self) -> Mapping[str, Topic]:
        return self._cluster.topics

    def controller_moved(self, why: str = MOVED) -> None:
        self._tasks.end_term(why)

    def watch_fired(self, kind: WatchKind, path: str) -> None:
        if self._duties is not None:
            self._duties.watches.watch_fired(kind, path)

    def connection_lost(self, lease_left: float) -> None:
        if lease_left > 0 and not self._tasks.is_over:
            log.warning(
                "this server remains the controller if ZooKeeper is back within %.1f s: until then commands wait",
                lease_left,
            )
        if self._duties is not None:
            self._duties.watches.connection_lost()

    def connected_again(self) -> None:
        if not self._tasks.is_over:
            log.info("ZooKeeper is back: this server goes on as the controller, with epoch %d", self._sender.epoch)
        if self._duties is not None:
            self._duties.watches.connected_again()

    async def serve(self, begin: Callable[[TermServices], None]) -> bool:
        """Calls `begin` when APIs can be served. Returns whether the failover ended."""
        record = partial(self._around.recorder.record, self._sender.epoch)
        began, why = False, None
        record([Event(catalogue.CONTROLLER_ELECTED)])
        try:
            loaded = await self._store.load()
            if self._sender.id in loaded.cluster.brokers:
                why = f"broker {self._sender.id} has registered, and this server has the same id"
                return False
            last = await self._store.reading(lambda: own_server_znodes.read_last_control(self._around.zk))
            own = self._sender.epoch
            highest = await in_turns(highest_epoch(loaded.cluster, own))
            if isinstance(last, LastControl) and is_believable(last.epoch, own):
                highest = max(highest, last.epoch)
            if self._around.epochs.found(highest, own):
                why = f"another controller has had epoch {highest}, so brokers would not obey {own}"
                return False
            await ensure_feature_znode(self._store)
            process_limits.leave_loaded_objects_alone()
            if not self._store.is_in_a_copy:
                await Pace().through(mark_put_back(loaded.cluster))
            self._cluster = loaded.cluster
            held = self._held_after_absence(last)
            edits = await self._edits_meanwhile(loaded, last)
            duties = self._duties = TermDuties(
                self._around, self._store, self._sender, loaded, self._tasks, held, edits.leaders
            )
            await duties.removals.tidy_up(loaded.orphans)
            self._tasks.start(duties.loop.run(), duties.all)  # no duty's command comes before the failover
            failed_over = duties.loop.submit(duties.failover_command())
            # The loaded state is durable, so clients may see it. Their changes wait in the loop behind the failover.
            begin(duties.services())
            await failed_over
            if held is not None:
                await self._store.reading(lambda: duties.requests.hold_all(held))
                self._log_held(held)
            await mark_last_control(self._store, self._sender.epoch, now_ms())
            await self._store.reading(duties.watches.place)
            self._tasks.failed_over()
            began = True
            log.info("controlling %s on %s", counted(len(self.topics), "topic"), counted(len(self.brokers), "broker"))
            why = await self._tasks.over()
            self._tasks.raise_defect()
        except (ControllerMoved, ReloadNeeded, NotController, RequestTimedOut, ZkError) as reason:
            why = str(reason) or type(reason).__name__
            self._tasks.raise_defect()
        finally:
            await self._end()
            record([Event(catalogue.CONTROLLER_RESIGNED, reason=why)])
        return began

    async def _edits_meanwhile(self, loaded: LoadedCluster, last: LastControl | str | None) -> Edits:
        since = last.zxid if isinstance(last, LastControl) else LAST_ZXID
        names = await in_turns(failover.to_ask_about(self._cluster, loaded.written, since))
        links, client_id = self._around.config.links, str(self._sender.id)
        is_enough = partial(failover.is_as_stored, self._cluster, names)
        told = await ask_of_edits(self.brokers.values(), links, client_id, names, is_enough)
        edits = await in_turns(failover.proven(self._cluster, told, since))
        await Pace().through(failover.keep_ids(self._cluster, edits.lost))
        for name in edits.lost:
            log.warning("topic %s had lost its id in ZooKeeper: it gets back the one that brokers know", name)
        for one in edits.edited:
            log.error("%s", one.text)
        self._around.recorder.record(
            self._sender.epoch,
            [Event(catalogue.TOPIC_ID_EDITED, one.topic, reason=one.text) for one in edits.edited],
        )
        if edits.leaders:
            log.warning(
                "others have written another leader into the state of %s while no controller ran: brokers follow it,"
                " in the next leader epoch",
                first_of(sorted(edits.leaders), SHOWN),
            )
        return edits

    def _held_after_absence(self, last: LastControl | str | None) -> Held | None:
        limit = self._cluster.soft.in_force.hold_after_absence_ms
        return failover.held_after(last, self._sender.epoch, now_ms(), limit)

    def _log_held(self, held: Held) -> None:
        moves = self._cluster.queue.held
        if moves:
            log.warning(
                "%s held until `%s`: %s",
                counted(moves, "waiting move", "are"),
                command("kafka-reassign release", "--all"),
                held.reason,
            )

    async def _end(self) -> None:
        self._around.survey.stop_waiting()
        await self._tasks.stop()
        if self._duties is not None:
            await self._duties.channels.close()


ANSWER_S = 1.0
"""How long a failover waits for the answers at most."""
ASKED = 3
"""How many brokers are asked: one may have started again, and know nothing."""


async def ask_of_edits(
    brokers: Iterable[Broker],
    links: BrokerLinks,
    client_id: str,
    names: Sequence[str],
    is_enough: Callable[[Told], bool],
) -> list[Told]:
    """What brokers say in time, in the order of broker ids: all that were asked, or those up to the first one that
    `is_enough`. So a broker that does not answer delays a failover only where another one finds something."""
    known = list(brokers)
    asked = random.sample(known, min(ASKED, len(known))) if names else []
    tasks = [asyncio.create_task(_ask(one, links, client_id, names)) for one in asked]
    told = list[Told]()
    try:
        for answered in asyncio.as_completed(tasks):
            told.append(await answered)
            if is_enough(told[-1]):
                break
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return sorted(told, key=lambda one: one.broker)


async def _ask(broker: Broker, links: BrokerLinks, client_id: str, names: Sequence[str]) -> Told:
    told, pace = Told(broker.id, {}, {}), Pace()
    try:
        async with asyncio.timeout(ANSWER_S):
            client = await links.open(broker, client_id, ANSWER_S)
            try:
                async for topic in known_topics(client, names):
                    told.ids[topic.name] = topic.topic_id
                    for one in topic.partitions:
                        if not one.error_code:
                            name = TopicPartition(topic.name, one.partition_index)
                            told.leaders[name] = one.leader_id, one.leader_epoch
                        await pace.rest()
            finally:
                client.close()
    except (OSError, TimeoutError, EOFError, ProtocolError, NoCommonVersion) as error:
        log.debug("broker %d does not say all that it knows: %s", broker.id, error or type(error).__name__)
    return told
