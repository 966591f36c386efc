"""A random history of terms in front of KRaft, in virtual time: requests of clients and operators at any moment,
crashes, lost answers, brokers that lag or die, other tools, topics that are deleted and come back, a cluster that hides
topics or takes nothing. In the end all is at rest and is judged as after a campaign. The seed alone decides.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from random import Random
from uuid import UUID

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.ports import AlterReassignments, AskedItem
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesService
from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.brokers.cordon import LOG_DIRS
from kafka_reassign_rpc.core.config_values import BROKERS, TOPICS
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed, KafkaError, NotController, RequestTimedOut
from kafka_reassign_rpc.core.queue.holding import Selection
from kafka_reassign_rpc.core.settings.healing_settings import APPROVAL, CANCEL_ON_RETURN, INTERVAL, MAX_BROKERS, PAUSED
from kafka_reassign_rpc.core.settings.reassignment_settings import (
    CORDONED_BROKERS,
    ENABLED,
    MAX_PER_BROKER,
    MAX_PER_CLUSTER,
    REPLICATION_FACTOR_CHANGE_ALLOWED,
    InFlightCaps,
)
from kafka_reassign_rpc.core.settings.windows import WINDOWS
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.partition import CancelMove, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling import replication_throttles as throttles
from kafka_reassign_rpc.kraft import round_records
from kafka_reassign_rpc.kraft.cluster_poller import LookPace
from tests.campaign.kraft import intent_checks, rule_checks
from tests.campaign.kraft.asked import OPEN, Asked
from tests.campaign.kraft.intent_checks import Round, Story
from tests.core.phases.kraft_model import Replicas
from tests.kraft.memory_cluster import NOW, LogWriter
from tests.kraft.memory_term import Here
from tests.kraft.test_settings import change
from tests.kraft.unsteady import LAGS_S, Dated, Unsteady, UnsteadyWriter, loop_s

ALL = (1, 2, 3, 4)
TARGETS: list[Replicas] = [(3, 2), (4, 1), (1, 4), (2, 1), (1, 2), (2, 3), (1, 2, 3), (2, 3, 4), (3, 4), (1,)]
LATER_S = (0.0, 0.0, 0.0, 0.01, 0.03, 0.3, 2.0, 6.0)
LIMIT_S, REPAIRED_S = 30.0, 90.0
"""A broker that is away for longer is repaired, and when that has begun for sure."""
RESTS_S = 300.0
REASONS = ("drain", "balance")
CLIENT = RequestContext(45, 0, 1, "test")
SWITCHES = {
    ENABLED: "false",
    MAX_PER_CLUSTER: "1",
    MAX_PER_BROKER: "1",
    WINDOWS: "sun 00:00-00:01 UTC",
    CORDONED_BROKERS: "3",
    REPLICATION_FACTOR_CHANGE_ALLOWED: "false",
    PAUSED: "true",
    MAX_BROKERS: "0",
    APPROVAL: "required",
    CANCEL_ON_RETURN: "true",
}
RATES = (throttles.LEADER_RATE, throttles.FOLLOWER_RATE)
LISTS = (throttles.LEADER_REPLICAS, throttles.FOLLOWER_REPLICAS)


class History(Here):
    def __init__(self, seed: int, say: Callable[[str], None]) -> None:
        super().__init__()
        self.chance = Random(seed)
        self._say = say
        self.cluster: Unsteady = Unsteady(ALL, Random(f"cluster {seed}"))
        self.writes = lambda log: UnsteadyWriter(log, Random(self.chance.random()))
        self.asking: list[asyncio.Task[None]] = []
        self.ours: list[Asked] = []
        self.behind: list[Asked] = []
        self.away: dict[int, tuple[Broker, rule_checks.Lost]] = {}
        self.lost: list[rule_checks.Lost] = []
        self.failed: list[rule_checks.Lost] = []
        self.deleted: set[str] = set()
        self.created: dict[str, float] = {}
        for topic in ("t", "u"):
            self._create(topic)
        self.created.clear()

    def say(self, what: str) -> None:
        self._say(f"{loop_s():8.3f} {what}")

    @property
    def now_s(self) -> float:
        return NOW / 1000 + loop_s()

    @property
    def now(self) -> int:
        return int(self.now_s * 1000)

    @now.setter
    def now(self, _: int) -> None:
        """It passes by itself."""

    async def pass_by(self) -> None:
        for _ in range(self.chance.randrange(2, 6)):
            self.cluster.loses = self.chance.choice((0, 0, 0.2))
            self.loses_events = self.chance.random() < 0.2
            async with self.term(InFlightCaps(per_cluster=self.chance.choice((1, 2, 9))), LookPace()):
                await self._set(INTERVAL, f"{LIMIT_S * 1000:.0f}")
                for _ in range(self.chance.randrange(3, 14)):
                    await self._step()
                for one in self.asking:
                    if self.chance.random() < 0.3:
                        one.cancel()
            self.say("the term is over")
        await asyncio.gather(*self.asking, return_exceptions=True)

    async def come_to_rest(self) -> None:
        """With nothing in the way. Raises AssertionError."""
        self.cluster.chance, self.loses_events = None, False
        self._come_back()
        self.cluster.refuses, self.cluster.cordoned = None, frozenset()
        self._repair_log_dirs()
        self.cluster.secret.clear()
        for configs in self.cluster.of_configs.values():
            configs.pop(LOG_DIRS, None)
        self.writes = LogWriter
        async with self.term(pace=LookPace()):
            for setting in SWITCHES:
                await self._set(setting, None)
            await self._service().hold_moves(Selection(), CLIENT, hold=False)
            with suppress(KafkaError):
                await self._service().approve_repairs(None, CLIENT)
            await asyncio.sleep(10)
            self._unthrottle()
            until = loop_s() + RESTS_S
            while unrest := [*self._unrest()]:
                assert loop_s() < until, f"no rest: {unrest}"
                for name, one in self.cluster.dated.items():
                    one.catch_up()
                    if one.at.never_ends and name not in self.log.replayed().moves:
                        self._alter(name, None)  # it would keep room from what waits
                await asyncio.sleep(1)
            await asyncio.sleep(10)

    def _unrest(self) -> Iterator[object]:
        intents = self.log.replayed()
        yield from filter(None, (intents.moves, intents.queue, intents.memories))
        yield from (one for one in self.cluster.of_configs.items() if one[1])
        yield from (one for one in self.cluster.dated.items() if one[1].at.is_moving and not one[1].at.never_ends)

    def judged(self) -> tuple[list[str], Story]:
        rounds = [Round(offset, round_records.decode(payload)) for offset, payload in self.log.history]
        told, replicas = (
            intent_checks.story(rounds),
            {name: one.at.replicas for name, one in self.cluster.dated.items()},
        )
        events = [{field: getattr(one, field) for field in one.__struct_fields__} for one in self.events]
        return [
            *intent_checks.still_open(told),
            *intent_checks.each_once(told),
            *intent_checks.in_events(told, events),
            *intent_checks.acknowledged(told, self.ours, self.behind),
            *intent_checks.nobody_else(told, self.behind, self.deleted),
            *intent_checks.as_decided(told, self.behind, replicas, self.created),
            *rule_checks.by_rules(rounds, self.lost),
        ], told

    # Steps

    async def _step(self) -> None:
        weights = {
            self._ask: 11, self._catch_up: 5, self._alter_behind: 1, self._create_again: 0.8, self._grow: 0.6,
            self._lose_broker: 0.8, self._throttle_behind: 1.5, self._switch: 1.5, self._hold: 1, self._heal: 0.5,
            self._change_rates: 0.7, self._take_nothing: 0.5, self._hide: 0.7, self._lose_replicas: 0.5,
            self._cordon: 0.5, self._fail_log_dir: 0.3,
        }  # fmt: skip
        [step] = self.chance.choices([*weights], [*weights.values()])
        await step(self.chance.choice(sorted(self.cluster.dated)))
        await asyncio.sleep(self.chance.choice(LATER_S))

    async def _ask(self, name: TopicPartition) -> None:
        names = [name]
        if self.chance.random() < 0.3:
            names = self.chance.sample(sorted(self.cluster.dated), min(3, len(self.cluster.dated)))
        queue = self.chance.random() < 0.3
        asked = {one: self._drawn(one, queue=queue) for one in names}
        topics: dict[str, list[AskedItem]] = {}
        for one, what in asked.items():
            topics.setdefault(one.topic, []).append((one.partition, what))
        request = AlterReassignments(list(topics.items()), queue=queue, timeout_ms=5_000)
        task = asyncio.create_task(self._asked(asked, request))
        self.asking.append(task)
        if self.chance.random() < 0.5:
            await asyncio.wait([task], timeout=1)

    def _drawn(self, name: TopicPartition, *, queue: bool) -> MoveTerms | CancelMove:
        at = self.cluster.dated[name].at
        expected = self.chance.choice((None, None, None, None, at.replicas, (1, 2)))
        if not queue and self.chance.random() < 0.35:
            return CancelMove(expected)
        return MoveTerms(
            self.chance.choice(TARGETS),
            throttle=self.chance.choice((None, None, 1_000)),
            expected=expected,
            moves_per_broker=1 if queue and self.chance.random() < 0.2 else None,
            reason=self.chance.choice(REASONS),
        )

    async def _asked(self, asked: Mapping[TopicPartition, MoveTerms | CancelMove], request: AlterReassignments) -> None:
        begin = self.now_s
        answers: dict[TopicPartition, KafkaError | None] = dict.fromkeys(asked, RequestTimedOut())
        may_be_there = {}
        for name, one in asked.items():
            before = self.cluster.dated.get(name)
            may_be_there[name] = before is None or before.at.is_moving
            if before is not None and isinstance(one, MoveTerms):
                may_be_there[name] |= before.had(one.target, loop_s() - LAGS_S)
        try:
            found = await self._service().alter_reassignments(request, CLIENT)
            answers = {TopicPartition(topic, index): error for topic, index, error in found}
        except KafkaError as error:
            answers = dict.fromkeys(asked, error)
        finally:
            for name, one in asked.items():
                answer = answers[name]
                is_taken = None if answer is not None and answer.name in OPEN else answer is None
                target = one.target if isinstance(one, MoveTerms) else None
                self.ours.append(Asked(name, target, begin, self.now_s, is_taken, may_be_there[name]))
            what = f"{'queue ' * request.queue}{request.topics}"
            self.say(f"asked since {begin - NOW / 1000:.3f}: {what}: {answers}")

    def _service(self) -> MovesService:
        service = MovesService()
        service.begin(self.begun, lambda: 1.0)
        service.epoch, service.since_ms = 1, NOW
        return service

    async def _catch_up(self, name: TopicPartition) -> None:
        self.cluster.dated[name].catch_up()
        self.say(f"{name} has caught up: {self.cluster.dated[name].at}")

    async def _alter_behind(self, name: TopicPartition) -> None:
        self._alter(name, self.chance.choice([None, *TARGETS]))

    def _alter(self, name: TopicPartition, target: Replicas | None) -> None:
        error = self.cluster.dated[name].alter(target)
        self.behind.append(Asked(name, target, self.now_s, self.now_s, error is None))
        self.say(f"behind: {name} {target}: {error!r}")

    async def _create_again(self, name: TopicPartition) -> None:
        for one in [one for one in self.cluster.dated if one.topic == name.topic]:
            del self.cluster.dated[one]
        self.cluster.of_configs.pop(Entity(TOPICS, name.topic), None)
        self.deleted.add(name.topic)
        self.say(f"{name.topic} is deleted")
        await asyncio.sleep(self.chance.choice((0, 0.5, 8.0)))
        self._create(name.topic)

    def _create(self, topic: str) -> None:
        self.created[topic] = self.now_s
        self.cluster.ids[topic] = UUID(int=self.chance.getrandbits(120))
        for index in range(self.chance.randrange(1, 4)):
            self.cluster.dated[TopicPartition(topic, index)] = self._new()

    def _new(self) -> Dated:
        live = sorted(self.cluster.brokers)
        return Dated(*self.chance.sample(live if len(live) > 1 else ALL, 2))

    async def _grow(self, name: TopicPartition) -> None:
        index = sum(one.topic == name.topic for one in self.cluster.dated)
        if index < 6:
            self.cluster.dated[TopicPartition(name.topic, index)] = self._new()
            self.say(f"{name.topic} has a partition {index}")

    async def _lose_broker(self, _: TopicPartition) -> None:
        """Replicas that are alone in sync stay so, as on a broker that is back at once."""
        broker = self.chance.choice(sorted(self.cluster.brokers))
        unseen = [one.begin for one in self.lost if one.broker == broker and one.end > self.now_s]
        lost = rule_checks.Lost(broker, LIMIT_S, min([self.now_s, *unseen]))
        self.away[broker] = self.cluster.brokers.pop(broker), lost
        self.lost.append(lost)
        for one in self.cluster.dated.values():
            one.isr = tuple(replica for replica in one.isr if replica != broker) or one.isr
        self.say(f"broker {broker} is away")
        await asyncio.sleep(self.chance.choice((1, LIMIT_S - 1, REPAIRED_S)))
        if self.chance.random() < 0.8:
            self._come_back()

    def _come_back(self) -> None:
        for broker, (registered, lost) in self.away.items():
            self.cluster.brokers[broker], lost.end = registered, self.now_s + LookPace().at_rest
        self.away.clear()

    async def _throttle_behind(self, name: TopicPartition) -> None:
        if is_end := self.chance.random() < 0.5:
            self._unthrottle()
        else:
            for broker in map(str, ALL):
                self.cluster.of_configs.setdefault(Entity(BROKERS, broker), {}).update(dict.fromkeys(RATES, "777"))
            if self.chance.random() < 0.7:
                named = self.chance.choice(("*", "0:1", "", "0:1,1:2"))
                self.cluster.of_configs.setdefault(Entity(TOPICS, name.topic), {}).update(dict.fromkeys(LISTS, named))
        self.say(f"throttles are {'deleted' if is_end else 'set'} behind")

    def _unthrottle(self) -> None:
        for some in self.cluster.of_configs.values():
            for config in (*RATES, *LISTS):
                some.pop(config, None)

    async def _switch(self, _: TopicPartition) -> None:
        name = self.chance.choice([*SWITCHES])
        value = self.chance.choice((SWITCHES[name], None))
        await self._set(name, value)
        self.say(f"{name}={value}")

    async def _hold(self, name: TopicPartition) -> None:
        selection = Selection(
            self.chance.choice((None, frozenset({name.topic}))),
            self.chance.choice((None, None, frozenset({3}))),
            self.chance.choice((None, None, frozenset({REASONS[0]}))),
        )
        hold = self.chance.random() < 0.5
        with suppress(KafkaError):
            found = await self._service().hold_moves(selection, CLIENT, hold=hold, reason="wait")
            self.say(f"{'held' if hold else 'released'} {selection}: {found}")

    async def _change_rates(self, name: TopicPartition) -> None:
        wanted = self.chance.choice((None, {name.topic: None}, {name.topic: {name.partition}}))
        rate = self.chance.choice((0, 2_000))
        with suppress(KafkaError):
            self.say(f"rate {rate} of {wanted}: {await self._service().change_rates(wanted, rate, CLIENT)}")

    async def _heal(self, _: TopicPartition) -> None:
        service, broker = self._service(), self.chance.choice(ALL)
        self.lost.append(rule_checks.Lost(broker, 0.0, self.now_s, self.now_s + REPAIRED_S))  # by hand, at once
        with suppress(KafkaError):
            if self.chance.random() < 0.5:
                self.say(f"approved: {await service.approve_repairs(None, CLIENT)}")
            self.say(f"healed: {await service.heal(broker, CLIENT, dry_run=False)}")

    async def _take_nothing(self, _: TopicPartition) -> None:
        self.cluster.refuses = self.chance.choice((ClusterAuthorizationFailed(), NotController()))
        self.say(f"the cluster takes nothing: {self.cluster.refuses!r}")
        await asyncio.sleep(self.chance.choice((0.5, 3, 12)))
        if self.chance.random() < 0.7:
            self.cluster.refuses = None

    async def _hide(self, name: TopicPartition) -> None:
        self.cluster.secret ^= {name.topic}
        self.say(f"not shown: {self.cluster.secret}")

    async def _lose_replicas(self, name: TopicPartition) -> None:
        self.cluster.dated[name].lose_all()
        self.say(f"{name} has no replica in sync")

    async def _cordon(self, _: TopicPartition) -> None:
        broker = self.chance.choice(ALL)
        cordoned = self.cluster.cordoned = frozenset() if self.cluster.cordoned else frozenset({broker})
        for one in ALL:
            self.cluster.of_configs.setdefault(Entity(BROKERS, str(one)), {}).pop(LOG_DIRS, None)
        for one in cordoned:
            self.cluster.of_configs.setdefault(Entity(BROKERS, str(one)), {})[LOG_DIRS] = "*"
        self.say(f"cordoned: {cordoned}")

    def _repair_log_dirs(self) -> None:
        self.cluster.offline = {}
        for lost in self.failed:
            lost.end = self.now_s + LookPace().at_rest

    async def _fail_log_dir(self, name: TopicPartition) -> None:
        if self.cluster.offline:
            self._repair_log_dirs()
        else:
            broker = self.cluster.dated[name].at.replicas[0]
            self.cluster.offline, lost = {name: (broker,)}, rule_checks.Lost(broker, LIMIT_S, self.now_s)
            self.lost.append(lost)
            self.failed = [lost]
        self.say(f"offline: {self.cluster.offline}")

    async def _set(self, name: str, value: str | None) -> None:
        with suppress(KafkaError):  # the server may be dead
            await change(self, {name: value})
