"""A random history of terms in front of KRaft, in virtual time: requests at any moment, crashes, lost answers, brokers
that lag or die, other tools, topics that are deleted and come back. In the end all is at rest and is judged as after a
campaign. The seed alone decides.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from uuid import UUID

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.ports import AlterReassignments
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesService
from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController, RequestTimedOut
from kafka_reassign_rpc.core.settings.healing_settings import INTERVAL
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED, InFlightCaps
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.config_entities import BROKERS, TOPICS
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
from tests.kraft.test_settings import change
from tests.kraft.test_term import Here
from tests.kraft.unsteady import LAGS_S, Dated, Unsteady, UnsteadyWriter, loop_s

ALL = (1, 2, 3, 4)
TARGETS: list[Replicas] = [(3, 2), (4, 1), (1, 4), (2, 1), (1, 2), (2, 3), (1, 2, 3), (2, 3, 4), (3, 4), (1,)]
LATER_S = (0.0, 0.0, 0.0, 0.01, 0.03, 0.3, 2.0, 6.0)
LIMIT_S, REPAIRED_S = 30.0, 90.0
"""A broker that is away for longer is repaired, and when that has begun for sure."""
RESTS_S = 300.0
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
        self.writes = LogWriter
        async with self.term(pace=LookPace()):
            await self._set(ENABLED, None)
            await asyncio.sleep(10)
            self._unthrottle()
            until = loop_s() + RESTS_S
            while unrest := [*self._unrest()]:
                assert loop_s() < until, f"no rest: {unrest}"
                for one in self.cluster.dated.values():
                    one.catch_up()
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
            self._lose_broker: 0.8, self._throttle_behind: 1.5, self._switch: 0.5,
        }  # fmt: skip
        [step] = self.chance.choices([*weights], [*weights.values()])
        await step(self.chance.choice(sorted(self.cluster.dated)))
        await asyncio.sleep(self.chance.choice(LATER_S))

    async def _ask(self, name: TopicPartition) -> None:
        target = None if self.chance.random() < 0.3 else self.chance.choice(TARGETS)
        queue = target is not None and self.chance.random() < 0.3
        asked = CancelMove() if target is None else MoveTerms(target, throttle=self.chance.choice((None, None, 1_000)))
        request = AlterReassignments([(name.topic, [(name.partition, asked)])], queue=queue, timeout_ms=5_000)
        task = asyncio.create_task(self._asked(name, target, request))
        self.asking.append(task)
        if self.chance.random() < 0.5:
            await asyncio.wait([task], timeout=1)

    async def _asked(self, name: TopicPartition, target: Replicas | None, request: AlterReassignments) -> None:
        begin = self.now_s
        answer: KafkaError | None = RequestTimedOut()
        before = self.cluster.dated.get(name)
        may_be_there = before is None or before.at.is_moving
        may_be_there |= before is not None and target is not None and before.had(target, loop_s() - LAGS_S)
        service = MovesService()
        service.begin(self.begun, lambda: 1.0)
        try:
            [(*_, answer)] = await service.alter_reassignments(request, RequestContext(45, 0, 1, "test"))
        except NotController as error:
            answer = error
        finally:
            is_taken = None if answer is not None and answer.name in OPEN else answer is None
            self.ours.append(Asked(name, target, begin, self.now_s, is_taken, may_be_there))
            what = f"{'queue ' * request.queue}{request.topics}"
            self.say(f"asked since {begin - NOW / 1000:.3f}: {what}: {answer!r}")

    async def _catch_up(self, name: TopicPartition) -> None:
        self.cluster.dated[name].catch_up()
        self.say(f"{name} has caught up: {self.cluster.dated[name].at}")

    async def _alter_behind(self, name: TopicPartition) -> None:
        target = self.chance.choice([None, *TARGETS])
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
        value = self.chance.choice(("false", None))
        await self._set(ENABLED, value)
        self.say(f"{ENABLED}={value}")

    async def _set(self, name: str, value: str | None) -> None:
        with suppress(KafkaError):  # the server may be dead
            await change(self, {name: value})
