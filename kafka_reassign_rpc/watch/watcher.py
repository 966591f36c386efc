"""One look: the list of moves, then the nodes and the topics of moves (every now and then all topics), then the sizes
on brokers with moves, side by side, and now and then configs. A look that fails is one line of the log, and tried
again; what was seen last is shown for `STALE_S`, then the reason why nothing is seen.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from itertools import islice
from typing import Any

from msgspec.structs import replace

from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError, Unauthenticated, Unreachable
from kafka_reassign_rpc.client.broker_questions import NO_ANSWER, Answer, BrokerQuestions
from kafka_reassign_rpc.client.client_errors import NoActiveController
from kafka_reassign_rpc.client.config_calls import Resource
from kafka_reassign_rpc.client.kraft_calls import Quorum
from kafka_reassign_rpc.client.metadata_calls import Everything, TopicInfo
from kafka_reassign_rpc.client.polling_pace import Ask, Pace, Traffic, counted
from kafka_reassign_rpc.client.stock_cluster import (
    NEEDS_DESCRIBE,
    ConfigAnswer,
    Listed,
    lacking_configs,
    others_to_ask,
    sampled,
    text_of_hidden,
    told_configs,
)
from kafka_reassign_rpc.core.events.cluster_news import ClusterNews
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir, ToldSizes, takes_nothing_new
from kafka_reassign_rpc.core.state.broker import LostQuorum
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.problems import lost_brokers
from kafka_reassign_rpc.core.status.views import ControllerView, PartitionHealth, ServerView, TermView, WatchView
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.slices import forget_others, pieces
from kafka_reassign_rpc.support.turns import Pace as Turns
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.watch import seen_cluster
from kafka_reassign_rpc.watch.move_book import MoveBook
from kafka_reassign_rpc.watch.seen_cluster import ThrottleReadings

log = logging.getLogger(__name__)

EVENTS_AT_ONCE = 500
STALE_S = 10.0
SILENT_S = 3.0
"""What is known of moves is a problem of its own once it is older than it should be by so much."""
STALL_S = 60.0
LONGEST_WAIT_S, AFTER_REFUSAL_S = 10.0, 30.0
"""Between two tries of a cluster that does not answer, and after it has refused the principal."""
SETTLED_S = 30.0
TRIES = 3
"""After this number of failures the client begins again with the given addresses: the brokers may have moved."""
MOST_HIDDEN = 100
"""How many topics at rest that this principal may not describe are remembered."""

Record = Callable[[Sequence[Event]], None]


class Watcher:
    """`configs`: of the client. `name`: of the cluster, where there are several."""

    def __init__(self, configs: Mapping[str, Any], record: Record, name: str = "") -> None:
        self._name = name
        self._configs = configs
        self._record = record
        self._client: AsyncReassignmentClient | None = None
        self._why = "the first look at the cluster is not over yet"
        self._failures = 0
        self._told = ""
        """The failure that the log has named last."""
        self._lost_quorum: LostQuorum | None = None
        self._seen_at = float("-inf")
        self._told_at = 0
        """When the moves that are shown were listed, ms since 1970; before that: when they were first asked for."""
        self._old_at = float("inf")
        """From then on, by the loop's clock, they are old."""
        self._begin("")

    def _begin(self, cluster_id: str) -> None:
        """With another cluster nothing of what is known holds."""
        self.cluster_id = cluster_id
        self._quorum = Quorum(None, {})
        self._servers: Set[int] = frozenset()
        """Nodes that are servers of ours, and no brokers."""
        self._cluster: Cluster | None = None
        self._book = MoveBook()
        self._news = ClusterNews()
        self._progress = ProgressTracker(STALL_S)
        self._health = PartitionHealth()
        self._pace = Pace()
        self._paces: dict[int, Pace] = {}
        """Of each broker's sizes."""
        self._heard: dict[int, seen_cluster.Heard] = {}
        self._sizes: dict[int, list[SampledLogDir] | None] = {}
        self._sizes_told: dict[int, ToldSizes] = {}
        """The last answer of each broker: those that are asked less often have not fallen silent."""
        self._questions = BrokerQuestions()
        self._unseen = seen_cluster.Unseen()
        self._throttles = ThrottleReadings()
        self._configs_told: dict[int, ConfigAnswer] = {}
        """The last answer of each broker about itself."""
        self._other_configs: Mapping[Resource, ConfigAnswer] = {}
        self._owed: set[int] = set()
        """Brokers to ask for their configs as soon as they are free."""
        self._settles_at = float("-inf")
        """Brokers were lost or came back: until then leaders and ISRs may change by that."""
        self._hidden: frozenset[str] = frozenset()
        """Topics that this principal may not describe, as far as they have moved."""

    # ------------------------------------------------------------------------------------------------ what is seen

    def view(self) -> ServerView:
        """What was seen last."""
        cluster = self._cluster
        is_seen = cluster is not None and (
            not self._failures or asyncio.get_running_loop().time() - self._seen_at < STALE_S
        )
        watch = WatchView(self._name, (), self._silent_since, self._lost_quorum)
        if cluster is None or not is_seen:
            return ServerView(None, self.cluster_id, "", self._why, ControllerView(), {}, None, watch)
        health = self._health.now if self._health.counted else None
        silent = (cluster.brokers.keys() | cluster.failed.keys()) - self._throttles.known(cluster)
        closed = {broker: takes_nothing_new(log_dirs) for broker, log_dirs in self._sizes.items()}
        term = TermView(
            cluster,
            self._progress,
            health,
            None,
            silent=silent,
            knows_configs=False,
            knows_waiting=False,
            hidden=self._hidden,
            tells_routes=bool(self._servers),
            knows_leases=not self._servers,
            throttles_at=self._throttles.at,
            outdated=self._throttles.outdated(cluster),
            closed=closed,
        )
        watch = watch._replace(unseen=list(self._unseen.texts.values()))
        controller = ControllerView(self._quorum.leader)
        return ServerView(None, self.cluster_id, "watch", "", controller, cluster.brokers, term, watch)

    @property
    def _silent_since(self) -> int | None:
        """ms since 1970; None: what is known of moves is as young as it should be."""
        return self._told_at if self._now() >= self._old_at else None

    @property
    def tracker(self) -> ProgressTracker:
        return self._progress

    @property
    def answers(self) -> bool:
        return not self._failures and self._cluster is not None

    # ---------------------------------------------------------------------------------------------------- the loop

    async def run(self) -> None:
        """Looks until it is cancelled."""
        backoff = Backoff(0.5, LONGEST_WAIT_S)
        self._told_at, self._old_at = now_ms(), self._now() + SILENT_S
        try:
            while True:
                wait_s = await self._try(backoff)
                await asyncio.sleep(wait_s)
        finally:
            await self._close()

    async def _try(self, backoff: Backoff) -> float:
        try:
            await self._look()
        except (KafkaError, ProtocolError, OSError, EOFError) as error:
            text = error_text(error) if isinstance(error, OSError) else str(error) or type(error).__name__
            await self._failed(error, text)
            return AFTER_REFUSAL_S if isinstance(error, Unauthenticated) else backoff.next_s()
        except Exception as error:
            log.exception("a defect: this look at the cluster is lost; the next one follows")
            await self._failed(error, "a defect: see the log of this process")
            return backoff.next_s()
        if self._failures:
            log.info("the cluster answers again: its moves are shown as they are now")
        self._failures, self._why, self._told, self._lost_quorum = 0, "", "", None
        self._seen_at = asyncio.get_running_loop().time()
        backoff.reset()
        return self._due_in_s()

    async def _failed(self, error: Exception, text: str) -> None:
        self._lost_quorum = self._without_controller(error.found) if isinstance(error, NoActiveController) else None
        lost = None if self._lost_quorum is None else self._lost_quorum.text
        self._why = lost or f"the cluster cannot be seen: {text}"
        kind = lost or type(error).__name__  # which address is named in it may change from try to try
        if kind != self._told:
            then = "the cluster is asked again and again, and its moves are not shown until it answers"
            log.warning("%s; %s", self._why, then)
        self._told = kind
        self._failures += 1
        if self._failures % TRIES == 0 and lost is None:
            await self._close()

    def _without_controller(self, found: LostQuorum) -> LostQuorum:
        cluster = self._cluster
        lost = None if cluster is None else lost_brokers(cluster, None)
        return seen_cluster.dated(found, self._lost_quorum, lost, self._quorum.voters, self._told_at, now_ms())

    def _due_in_s(self) -> float:
        now = self._now()
        return max(0.05, min(self._due_s(what, now) for what in self._wanted))

    @property
    def _wanted(self) -> Sequence[Ask]:
        if self._is_moving:
            return tuple(Ask)
        throttles = (Ask.THROTTLES,) if self._throttled_ones() else ()
        return (Ask.MOVES, Ask.LOST, Ask.CONFIGS, Ask.EVERYTHING, *throttles)

    @property
    def _is_moving(self) -> bool:
        return self._book.follows_some

    def _is_due(self, what: Ask) -> bool:
        return self._due_s(what, self._now()) == 0

    def _due_s(self, what: Ask, now: float) -> float:
        hurry = self._cluster is not None and (
            (what is Ask.THROTTLES and self._throttles.is_urgent(self._cluster))
            or (what is Ask.EVERYTHING and (bool(self._health.now.offline) or now < self._settles_at))
        )
        return self._pace.due_in_s(what, now, moving=self._is_moving, hurry=hurry)

    def _throttled_ones(self) -> set[int]:
        moving = self._sizes if self._is_moving else ()
        return set() if self._cluster is None else self._throttles.to_ask(self._cluster, moving)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    async def _close(self) -> None:
        await self._questions.close()
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    # ---------------------------------------------------------------------------------------------------- one look

    async def _look(self) -> None:
        if self._client is None:
            client = AsyncReassignmentClient(**self._configs)
            await client.start()
            self._client = client
        client = self._client
        if self._is_due(Ask.MOVES):
            await self._look_at_moves(client)
        cluster = self._cluster
        if cluster is None:
            return
        if self._is_moving and self._is_due(Ask.SIZES):
            await self._look_at_sizes(client, cluster)
        elif not self._is_moving and not self._progress.is_idle:
            await self._forget_sizes(cluster)
        if self._is_due(Ask.LOST):
            await self._look_at_lost_brokers(client, cluster)
        if self._is_due(Ask.CONFIGS):
            await self._look_at_configs(client, cluster, Ask.CONFIGS, cluster.brokers.keys())
        elif self._is_due(Ask.THROTTLES):
            await self._look_at_configs(client, cluster, Ask.THROTTLES, self._throttled_ones())
        elif self._owed or self._questions.are_open:
            await self._ask_for_configs(client, cluster)

    async def _look_at_moves(self, client: AsyncReassignmentClient) -> None:
        of_all = self._cluster is None or self._is_due(Ask.EVERYTHING)
        with counted() as cost:
            try:
                listed = await asyncio.to_thread(seen_cluster.in_flight, await client.list_partition_reassignments())
            except ClusterAuthorizationFailed:
                raise ClusterAuthorizationFailed(NEEDS_DESCRIBE) from None
            listed_at = now_ms()
            if of_all and not self._failures:  # of many topics that takes a while
                self._old_at = self._now() + STALE_S
            if not of_all:
                wanted = self._book.topics | {name.topic for name in listed} | self._hidden
                found = await client.describe_some(sorted(wanted))
                self._quorum = await client.describe_quorum(found.controller)
        self._pace.asked(Ask.MOVES, self._now(), cost)
        if of_all:
            with counted() as cost:
                found = await client.describe_everything()
                self._quorum = await client.describe_quorum(found.controller)
            self._pace.asked(Ask.EVERYTHING, self._now(), cost)
        topics = await asyncio.to_thread(list, found.topics)
        if found.cluster_id and self.cluster_id not in ("", found.cluster_id):
            log.warning(
                "another cluster answers at the same address: %s, it was %s; what was known of that one is dropped",
                found.cluster_id,
                self.cluster_id,
            )
            await self._questions.close()
            self._begin(found.cluster_id)
            return  # the list of moves may be that of the other one: the next look follows at once
        self.cluster_id = found.cluster_id or self.cluster_id
        if of_all:
            self._servers = await self._servers_of(client, found, topics)
        await self._take(found, topics, listed, of_all=of_all)
        due_in_s = self._pace.due_in_s(Ask.MOVES, self._now(), moving=self._is_moving)
        self._told_at, self._old_at = listed_at, self._now() + due_in_s + SILENT_S

    async def _take(self, found: Everything, topics: Sequence[TopicInfo], listed: Listed, *, of_all: bool) -> None:
        at = now_ms()
        cluster = self._cluster
        was_moving, were_there = self._is_moving, None if cluster is None else set(cluster.brokers)
        events = await asyncio.to_thread(self._compared, at, topics, listed)
        self._throttles.moved(events, at, is_last=was_moving and not self._is_moving)
        records = self._book.records
        nodes = [one for one in found.nodes if one.id not in self._servers]
        if cluster is None or of_all:
            make = seen_cluster.made_new
            cluster = await asyncio.to_thread(make, cluster, nodes, topics, listed, records, at)
        else:
            await Turns().through(seen_cluster.brought_up_to_date(cluster, nodes, topics, listed, records, at))
        self._cluster = cluster
        if were_there is not None and were_there != set(cluster.brokers):
            self._settles_at = self._now() + SETTLED_S
            self._throttles.returned(cluster.brokers.keys() - were_there)
            self._questions.changed(were_there, cluster.brokers)
        self._record([*self._news.of(cluster)])
        moved = {name.topic for name in listed}
        before = [*(self._hidden & moved), *islice(self._hidden - moved, MOST_HIDDEN)]
        self._hidden = seen_cluster.refused(topics, before)
        self._unseen.put(Ask.MOVES, text_of_hidden(sorted(self._hidden)))
        turns = Turns()
        for some in pieces(events, EVENTS_AT_ONCE):
            self._record_events([*self._progress.ended(some, cluster)])
            await turns.rest()
        await turns.through(self._health.update(cluster))

    def _compared(self, at: int, topics: Sequence[TopicInfo], listed: Listed) -> list[Event]:
        """In a thread: meanwhile only this look reads and changes the book, and the cluster does not change."""
        told = {**seen_cluster.told_of(topics), **seen_cluster.missing(topics, {*self._book.records, *listed})}
        return self._book.observe(at, listed, told, seen_cluster.at_rest(self._cluster, listed))

    async def _look_at_sizes(self, client: AsyncReassignmentClient, cluster: Cluster) -> None:
        wanted = await asyncio.to_thread(seen_cluster.to_ask, cluster)
        for broker, some in wanted.items():
            pace = self._paces.setdefault(broker, Pace())
            is_due = pace.due_in_s(Ask.SIZES, self._now(), moving=True) == 0
            if is_due and broker not in self._owed and self._questions.is_free(broker):
                self._questions.ask(broker, Ask.SIZES, client.describe_brokers({broker: some}), some)
        await self._hear(cluster)
        for broker in wanted:
            if self._questions.is_silent(broker):
                self._heard[broker] = seen_cluster.Heard.SILENT
                self._sizes[broker], self._sizes_told[broker] = None, ToldSizes(self._now())
        for known in (self._heard, self._sizes, self._sizes_told):
            forget_others(known, wanted)
        forget_others(self._paces, cluster.brokers)  # one without moves keeps its pace until it leaves
        self._pace.asked(Ask.SIZES, self._now(), Traffic())
        self._unseen.put(Ask.SIZES, seen_cluster.lacking(self._heard, self._questions.heard_at))
        await self._sample(cluster)

    async def _hear(self, cluster: Cluster) -> list[Answer]:
        """Returns the answers about configs."""
        rest = []
        for one in await self._questions.wait():
            if one.broker not in cluster.brokers:
                continue
            if one.what is Ask.CONFIGS:
                rest.append(one)
                continue
            if not isinstance(one.found, Unreachable):
                self._paces.setdefault(one.broker, Pace()).asked(Ask.SIZES, one.at, one.cost)
            self._heard[one.broker] = seen_cluster.heard(one.found)
            self._sizes[one.broker] = await asyncio.to_thread(sampled, one.found)
            of = {topic: frozenset(some) for topic, some in one.of.items()}
            self._sizes_told[one.broker] = ToldSizes(one.at, of, one.began)
        if rest:
            await self._put_configs(cluster, {one.broker: one.found for one in rest}, min(one.asked_at for one in rest))
        return rest

    async def _forget_sizes(self, cluster: Cluster) -> None:
        """After the last move has ended, no figure of it is of use to the next one."""
        for known in (self._heard, self._sizes, self._sizes_told):
            known.clear()
        self._unseen.put(Ask.SIZES, "")
        await self._sample(cluster)

    async def _sample(self, cluster: Cluster) -> None:
        events: list[Event] = []
        fresh: dict[TopicPartition, int | None] = {}
        sample = self._progress.update(self._now(), cluster, self._sizes, events, fresh, told=self._sizes_told)
        await Turns().through(sample)
        for name, size in fresh.items():
            if size is None:
                cluster.soft.sizes.pop(name, None)
            else:
                cluster.soft.sizes[name] = size
        self._record_events(events)

    def _record_events(self, events: Sequence[Event]) -> None:
        """A stock controller does not say how a move came."""
        self._record(events if self._servers else [replace(one, route=None) for one in events])

    async def _look_at_configs(
        self, client: AsyncReassignmentClient, cluster: Cluster, what: Ask, of: Collection[int]
    ) -> None:
        asked = others_to_ask(cluster)
        with counted() as cost:
            try:
                self._other_configs = await client.describe_configs(asked)
            except KafkaError as error:  # the moves are seen without them
                self._other_configs = dict.fromkeys(asked, error)
        self._owed.update(of)
        self._throttles.asked(of)
        for answer in await self._ask_for_configs(client, cluster):
            cost.include(answer.cost)
        for one in (what, Ask.THROTTLES):
            self._pace.asked(one, self._now(), cost)
        hung: dict[int, ConfigAnswer] = {}
        for broker in of:
            if self._questions.is_silent(broker):  # the first reason stays, so that it is logged once
                known = self._configs_told.get(broker)
                hung[broker] = known if isinstance(known, Unreachable) else Unreachable(NO_ANSWER)
        await self._put_configs(cluster, hung, now_ms())
        if what is Ask.CONFIGS:
            forget_others(self._configs_told, cluster.brokers)
            self._unseen.put(Ask.CONFIGS, lacking_configs(self._configs_told, self._other_configs))

    async def _ask_for_configs(self, client: AsyncReassignmentClient, cluster: Cluster) -> list[Answer]:
        """Asks each broker for its own configs, as soon as it is free."""
        self._owed &= cluster.brokers.keys()
        for broker in [one for one in self._owed if self._questions.is_free(one)]:
            self._owed.discard(broker)
            self._questions.ask(broker, Ask.CONFIGS, client.describe_broker_configs([broker]))
        return await self._hear(cluster)

    async def _put_configs(self, cluster: Cluster, brokers: Mapping[int, ConfigAnswer], at: int) -> None:
        known = await asyncio.to_thread(told_configs, brokers, self._other_configs)
        self._throttles.put(cluster, known, brokers, at)
        self._configs_told.update(brokers)

    async def _look_at_lost_brokers(self, client: AsyncReassignmentClient, cluster: Cluster) -> None:
        """Asks nothing where no broker is lost and every moving partition has a leader."""
        with counted() as cost:
            found, lacking = await client.kraft_facts(cluster, self._quorum.quiet_s)
        self._pace.asked(Ask.LOST, self._now(), cost)
        cluster.soft.kraft = found
        self._unseen.put(Ask.LOST, lacking)

    async def _servers_of(
        self, client: AsyncReassignmentClient, found: Everything, topics: Sequence[TopicInfo]
    ) -> Set[int]:
        """Only a controller of ours names servers, and none is in a cluster with a quorum. A node with replicas is a
        broker, and is not asked; a server stays one.
        """
        known = self._servers & {one.id for one in found.nodes}
        if self._quorum.quiet_s or found.controller < 0:
            return known
        if found.controller not in known and not await client.servers_among([found.controller]):
            return frozenset()
        brokers = await asyncio.to_thread(seen_cluster.with_replicas, topics)
        asked = [one.id for one in found.nodes if one.id not in brokers and one.id not in known]
        return known | await client.servers_among(asked)
