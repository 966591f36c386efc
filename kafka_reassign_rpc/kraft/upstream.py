"""What the cluster is asked (one look), and what it is told, with an outcome for each change.

What has no answer in a look is an error that says why: nothing may be concluded from it. After a change, three kinds of
silence leave it open whether the change holds, so a look has to say: no answer in time, a connection that was lost, and
an error that says nothing about the records of the controller.

Source: QuorumController. When it resigns, it answers NOT_CONTROLLER to changes that it has written and not yet seen
committed (`renounce`); of more than 10,000 records it applies the first, and answers UNKNOWN_SERVER_ERROR to the rest.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import msgspec

from kafka_reassign_rpc.client import config_calls, kraft_calls, metadata_calls, reassignment_calls
from kafka_reassign_rpc.client.broker_questions import ANSWER_S, Answer, BrokerQuestions
from kafka_reassign_rpc.client.client_errors import NotSent, Unauthenticated, Unreachable, UnsupportedHere
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC, Changes, Configs, Resource, Values
from kafka_reassign_rpc.client.kraft_calls import RegisteredBroker
from kafka_reassign_rpc.client.metadata_calls import Everything, TopicInfo
from kafka_reassign_rpc.client.polling_pace import Ask
from kafka_reassign_rpc.client.request_routing import RequestRouter, connect
from kafka_reassign_rpc.client.result_values import PartitionReassignment
from kafka_reassign_rpc.core.acls.acl_binding import AclOperation
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    IllegalSaslState,
    KafkaError,
    NotController,
    RequestTimedOut,
    ThrottlingQuotaExceeded,
    TopicAuthorizationFailed,
    UnknownServerError,
    UnsupportedSaslMechanism,
    UnsupportedVersion,
)
from kafka_reassign_rpc.core.quotas.client_quotas import QuotaEntity
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.state_log.log_topic import require_kraft
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.transport.rpc_client import MaySend

NETWORK_EXCEPTION = 13
_OPEN = frozenset({UnknownServerError.code, RequestTimedOut.code, NETWORK_EXCEPTION, NotController.code})
_BEFORE_SENDING = (NotSent, Unauthenticated, UnsupportedHere)
_OF_THE_SENDER = frozenset(
    {
        TopicAuthorizationFailed.code,
        ClusterAuthorizationFailed.code,
        UnsupportedSaslMechanism.code,
        IllegalSaslState.code,
        UnsupportedVersion.code,
        Unauthenticated.code,
        ThrottlingQuotaExceeded.code,
    }
)
"""They are about who asks and how, whatever is asked."""


class Told(Enum):
    """DONE       the cluster has taken it
    REFUSED    it has not, and its error says why. A cancel that finds no move may be the second try of one that had its
               effect: brokers pass requests on again after a failover of the controller
    UNKNOWN    look before anything else
    NOT_TOLD   it has had no effect, for a reason that is not in it: it never left this server, or the cluster takes
               nothing of the kind from it. The same may be taken later
    """

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    NOT_TOLD = "not told"


class Outcome(NamedTuple):
    """`error`: Kafka's code and message, or why nothing is known; None if it is done."""

    told: Told
    error: KafkaError | None = None

    @property
    def is_known(self) -> bool:
        """Whether the cluster has said of this very change that it is done or refused."""
        return self.told in (Told.DONE, Told.REFUSED)


Heard = Callable[[Mapping[TopicPartition, Outcome]], None]
"""Gets the outcomes of one request."""
DONE = Outcome(Told.DONE)
NOT_NAMED = KafkaError("The answer of the cluster does not name it.")
UNNAMED = Outcome(Told.UNKNOWN, NOT_NAMED)
NOT_REACHED = Outcome(Told.NOT_TOLD, NotSent("Nothing was sent: a request before it has had no answer, or a refusal."))


def outcome_of(error: KafkaError | None, *, of_request: bool = False) -> Outcome:
    """`of_request`: the error is that of the whole request, and says nothing about one item."""
    if error is None:
        return DONE
    if isinstance(error, _BEFORE_SENDING):
        return Outcome(Told.NOT_TOLD, error)
    if isinstance(error, Unreachable):
        return Outcome(Told.UNKNOWN if error.may_have_had_effect else Told.NOT_TOLD, error)
    if error.code in _OPEN:
        return Outcome(Told.UNKNOWN, error)
    return Outcome(Told.NOT_TOLD if of_request or error.code in _OF_THE_SENDER else Told.REFUSED, error)


NOT_ASKED = KafkaError("It was not asked.")


class Wanted(NamedTuple):
    """topics          by name; None: all that this principal may describe
    moves           the moves in flight, whoever has started them
    brokers         the registered brokers, fenced ones too
    topic_configs   topics; with any of them, or of brokers, also the defaults of all brokers
    broker_configs  brokers. One that is still busy with its last question is not asked
    """

    topics: Collection[str] | None = ()
    moves: bool = True
    brokers: bool = True
    topic_configs: Collection[str] = ()
    broker_configs: Collection[int] = ()


class Seen(msgspec.Struct, frozen=True):
    """began, ended  by the loop's clock. The moves were asked first, so topics are as new as they or newer
    cluster_id    "" if no answer has it
    moves         those in flight, as the controller had them committed
    topics        those that were asked for; of all, those that may be described. One that no broker knows has its
                  error
    eligible      eligible leader replicas (KIP-966) of those of these topics that have partitions without a leader
    configs       set by somebody, without defaults; of brokers the last answer of each that has come since the look
                  before
    asked_at      when each of these brokers was asked, by the loop's clock
    """

    began: float
    ended: float
    cluster_id: str = ""
    moves: Mapping[TopicPartition, PartitionReassignment] | KafkaError = NOT_ASKED
    brokers: Mapping[int, RegisteredBroker] | KafkaError = NOT_ASKED
    topics: Mapping[str, TopicInfo] | KafkaError = NOT_ASKED
    eligible: Mapping[TopicPartition, tuple[int, ...]] | KafkaError = {}
    configs: Mapping[Resource, Configs | KafkaError] = {}
    asked_at: Mapping[Resource, float] = {}


def without_leader(topics: Mapping[str, TopicInfo]) -> list[str]:
    return [name for name, one in topics.items() if any(some.leader < 0 for some in one.partitions.values())]


PARTITIONS_A_REQUEST = 1_000
"""Of more than 10,000 records a controller applies only the first; with so few, others wait for it a tenth of a second.
"""
LAGS_S = 0.5
"""A broker that lives has within this, most of the time, what the controller has: where brokers do not tell."""
_SOON_MS = int(ANSWER_S * 1_000)
"""How long a broker may take to say what it knows itself."""
NO_CONTROLLERS = (
    "Broker {} does not take its configs itself, and no controllers are given that would (bootstrap.controller)."
)


class _Topics(NamedTuple):
    cluster_id: str
    by_name: dict[str, TopicInfo]


_Moves = Mapping[TopicPartition, PartitionReassignment] | KafkaError
_Eligible = Mapping[TopicPartition, tuple[int, ...]] | KafkaError
T = TypeVar("T")


class Upstream:
    """`configs`: of the client (`client.client_settings`). `of_controllers`: the same for the controllers' listener,
    with `bootstrap_controllers`; they take configs of brokers that are dead (KIP-919). `may_tell` is asked right before
    each request that changes something is sent: whether this server still controls the moves.

    Moves go out one request after the other. All changes have connections of their own, so that no look keeps them.
    """

    def __init__(
        self, configs: Mapping[str, Any], may_tell: MaySend, of_controllers: Mapping[str, Any] | None = None
    ) -> None:
        self._configs = configs
        self._may_tell = may_tell
        self._of_controllers = of_controllers
        self._looking: RequestRouter | None = None
        self._telling: RequestRouter | None = None
        self._controllers: RequestRouter | None = None
        self._one_at_a_time = asyncio.Lock()
        self._connecting = asyncio.Lock()
        self._questions = BrokerQuestions()

    async def start(self) -> None:
        """Raises Unreachable, Unauthenticated, and BadSetting for a config that cannot be used."""
        settings = await asyncio.to_thread(client_settings, self._configs)  # it reads files
        self._looking = await connect(settings)
        self._telling = await connect(settings, self._may_tell)

    async def close(self) -> None:
        await self._questions.close()
        for router in (self._looking, self._telling, self._controllers):
            if router is not None:
                await router.close()
        self._looking = self._telling = self._controllers = None

    # ------------------------------------------------------------------------------------------------ look

    async def look(self, wanted: Wanted) -> Seen:
        """Does not raise for what has no answer."""
        router, began = self._reader, _now()
        self._ask_brokers(router, wanted)
        (moves, found, eligible), brokers, configs, of_brokers = await asyncio.gather(
            _look_at_moves(router, wanted),
            _told(wanted.brokers, partial(kraft_calls.registered_brokers, router, of_controller=True)),
            self._look_at_configs(wanted),
            self._hear(),
        )
        cluster_id, topics = ("", found) if isinstance(found, KafkaError) else found
        told = configs | {broker: one.found for broker, one in of_brokers.items()}
        asked_at = {broker: one.began for broker, one in of_brokers.items()}
        return Seen(began, _now(), cluster_id, moves, brokers, topics, eligible, told, asked_at)

    async def assignments(
        self, topics: Collection[str], *, up_to_date: bool = False
    ) -> tuple[_Moves, Mapping[str, TopicInfo] | KafkaError]:
        """What moves, and these topics: asked at the same time, so either may be newer. `up_to_date`: see
        `kraft.ports`. Does not raise.
        """
        router = self._reader
        ask = partial(_topics, router, topics, up_to_date=up_to_date)
        moves, found = await asyncio.gather(_moves(router), _told(True, ask))
        return moves, found if isinstance(found, KafkaError) else found.by_name

    def _ask_brokers(self, router: RequestRouter, wanted: Wanted) -> None:
        for broker in wanted.broker_configs:
            if self._questions.is_free(broker):
                self._questions.ask(
                    broker, Ask.CONFIGS, config_calls.describe_broker_configs(router, [broker], _SOON_MS)
                )

    async def _hear(self) -> dict[Resource, Answer]:
        """What has come by now: a broker that is late answers in a later look, and one that never does has an error."""
        heard = await self._questions.wait() if self._questions.are_open else []
        return {(BROKER, str(one.broker)): one for one in heard}

    async def _look_at_configs(self, wanted: Wanted) -> dict[Resource, Configs | KafkaError]:
        if not wanted.topic_configs and not wanted.broker_configs:
            return {}
        return await self.configs([(BROKER, ""), *((TOPIC, one) for one in wanted.topic_configs)])

    async def configs(self, resources: Iterable[Resource]) -> dict[Resource, Configs | KafkaError]:
        """Set by somebody, without defaults. Those of a dead broker are unknown: controllers change them, and refuse to
        describe them.
        """
        router = self._reader
        asked = list(dict.fromkeys(resources))
        brokers = [int(name) for kind, name in asked if kind == BROKER and name]
        others = [one for one in asked if one[0] != BROKER or not one[1]]
        found: dict[Resource, Configs | KafkaError] = {}
        if others:
            try:
                found |= await config_calls.describe_configs(router, others)
            except KafkaError as error:
                found |= dict.fromkeys(others, error)
        of_brokers = await config_calls.describe_broker_configs(router, brokers, _SOON_MS)
        found |= {(BROKER, str(broker)): one for broker, one in of_brokers.items()}
        return {one: found.get(one, NOT_NAMED) for one in asked}

    # ------------------------------------------------------------------------------------------------ tell

    @property
    def knows_controllers(self) -> bool:
        """Whether configs of dead brokers can be changed."""
        return self._of_controllers is not None

    async def require_kraft(self) -> None:
        """Raises LogRefused for a cluster in ZooKeeper mode; KafkaError."""
        await require_kraft(self._reader)

    async def allowed(self) -> frozenset[AclOperation]:
        """What this server may do on the cluster. Raises KafkaError."""
        return await kraft_calls.allowed_on_cluster(self._reader)

    async def quotas(self) -> Mapping[QuotaEntity, Mapping[str, str]]:
        """Of users, clients and IPs. Raises KafkaError."""
        return await config_calls.describe_client_quotas(self._reader)

    async def refuses_cordoned_targets(self, broker: int) -> bool:
        """By the release of this broker. Raises Unreachable."""
        return await kraft_calls.refuses_cordoned_targets(self._reader, broker)

    async def alter(
        self, targets: Mapping[TopicPartition, Sequence[int] | None], heard: Heard = lambda _: None
    ) -> dict[TopicPartition, Outcome]:
        """Starts moves, or cancels them (None). A request that was not sent, that is refused as a whole, or whose
        answer is lost, is the last one. `heard` gets what is known after each request, before the next one.
        """
        router = self._teller
        outcomes: dict[TopicPartition, Outcome] = {}
        async with self._one_at_a_time:
            rest = iter(targets)
            while some := list(islice(rest, PARTITIONS_A_REQUEST)):
                try:
                    answers = await reassignment_calls.alter_partition_reassignments(
                        router,
                        {name: targets[name] for name in some},
                        allow_replication_factor_change=True,
                        timeout_ms=_ms(router),
                    )
                except KafkaError as error:
                    outcomes |= dict.fromkeys(some, outcome_of(error.as_answer(), of_request=True))
                    outcomes |= dict.fromkeys(rest, NOT_REACHED)
                    break
                known = {one: outcome_of(answers[one]) if one in answers else UNNAMED for one in some}
                heard(known)
                outcomes |= known
        return outcomes

    async def change_configs(self, changes: Changes) -> dict[Resource, Outcome]:
        """None deletes. There is no compare-and-set: read before, and read again. A broker's own go to that broker, and
        to the controllers where it cannot be reached.
        """
        router = self._teller
        of_brokers = {one: some for one, some in changes.items() if one[0] == BROKER and one[1]}
        others = {one: some for one, some in changes.items() if one not in of_brokers}
        outcomes: dict[Resource, Outcome] = {}
        for some in pieces(list(others), config_calls.RESOURCES_PER_REQUEST):
            outcomes |= await _changed(router, {one: others[one] for one in some})
        if of_brokers:
            live = await self._live_brokers()
            for told in await asyncio.gather(
                *(self._change_broker(live, one, values) for one, values in of_brokers.items())
            ):
                outcomes |= told
        return outcomes

    async def _live_brokers(self) -> Collection[int]:
        """Those that nothing says are dead; empty if nobody tells."""
        found = await _told(True, partial(kraft_calls.registered_brokers, self._reader))
        return () if isinstance(found, KafkaError) else [one for one, told in found.items() if not told.fenced]

    async def _change_broker(
        self, live: Collection[int], resource: Resource, values: Values
    ) -> dict[Resource, Outcome]:
        if not live or int(resource[1]) in live:
            told = await _changed(self._teller, {resource: values})
            if told[resource].told is not Told.NOT_TOLD or not isinstance(told[resource].error, Unreachable):
                return told
        return await self._change_at_controllers(resource, values)

    async def _change_at_controllers(self, resource: Resource, values: Values) -> dict[Resource, Outcome]:
        if self._of_controllers is None:
            return {resource: Outcome(Told.NOT_TOLD, Unreachable(NO_CONTROLLERS.format(resource[1])))}
        try:
            return await _changed(await self._at_controllers(), {resource: values})
        except KafkaError as error:
            return {resource: outcome_of(error)}

    # ------------------------------------------------------------------------------------------------ connections

    async def _at_controllers(self) -> RequestRouter:
        """Raises Unreachable, Unauthenticated."""
        assert self._of_controllers is not None
        async with self._connecting:
            if self._controllers is None:
                settings = await asyncio.to_thread(client_settings, self._of_controllers)
                self._controllers = await connect(settings, self._may_tell)
            return self._controllers

    @property
    def _reader(self) -> RequestRouter:
        assert self._looking is not None, "it is not started"
        return self._looking

    @property
    def _teller(self) -> RequestRouter:
        assert self._telling is not None, "it is not started"
        return self._telling


async def _told(is_wanted: bool, ask: Callable[[], Awaitable[T]]) -> T | KafkaError:
    if not is_wanted:
        return NOT_ASKED
    try:
        return await ask()
    except KafkaError as error:
        return error.as_answer()


async def _look_at_moves(router: RequestRouter, wanted: Wanted) -> tuple[_Moves, _Topics | KafkaError, _Eligible]:
    """The topics after the moves: one that is not listed any more has ended, and Metadata shows as what."""
    moves = await _moves(router) if wanted.moves else NOT_ASKED
    found = await _told(True, partial(_topics, router, wanted.topics))
    led_by_nobody = [] if isinstance(found, KafkaError) else without_leader(found.by_name)
    eligible: _Eligible = {}
    if led_by_nobody:
        eligible = await _told(True, partial(kraft_calls.eligible_replicas, router, led_by_nobody))
    return moves, found, eligible


async def _moves(router: RequestRouter) -> _Moves:
    return await _told(True, partial(reassignment_calls.list_partition_reassignments, router, None, _ms(router)))


async def _topics(router: RequestRouter, names: Collection[str] | None, *, up_to_date: bool = False) -> _Topics:
    """Raises KafkaError."""
    node = await kraft_calls.up_to_date_broker(router) if up_to_date else None
    if up_to_date and node is None:
        await asyncio.sleep(LAGS_S)
    try:
        if names is None:
            found = metadata_calls.read_everything(await metadata_calls.describe_everything(router))
        else:
            found = await metadata_calls.describe_some(router, names, node)
        return _Topics(found.cluster_id, await asyncio.to_thread(_by_name, found))
    except RemoteProtocolError as error:
        raise Unreachable(f"Metadata: the answer cannot be read: {error}") from error


def _by_name(found: Everything) -> dict[str, TopicInfo]:
    return {one.name: one for one in found.topics}


async def _changed(router: RequestRouter, changes: Changes) -> dict[Resource, Outcome]:
    answers = await config_calls.change_configs(router, changes)
    return {one: outcome_of(answers[one]) if one in answers else UNNAMED for one in changes}


def _ms(router: RequestRouter) -> int:
    return router.timeout_ms


def _now() -> float:
    return asyncio.get_running_loop().time()
