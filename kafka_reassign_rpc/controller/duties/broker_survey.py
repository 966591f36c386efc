"""Asks each registered broker once for its API versions, and for the settings that it was started with.

It runs on the controller and on standbys. Each registration has its own connection, so a slow broker delays nothing:
until it has answered, the built-in values hold. A broker can change these answers only by a restart, which registers it
again; its API versions stay known until then.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from kafka_reassign_rpc.core.configs import config_layers
from kafka_reassign_rpc.core.configs.config_layers import BrokerAnswer
from kafka_reassign_rpc.core.settings import broker_settings
from kafka_reassign_rpc.core.settings.broker_settings import AT_FIRST, AUTHORIZER, POLICIES, PROTOCOL_VERSION, Value
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.versions import OF_NEWEST_BROKER, OF_OLDEST_BROKER, SUPPORTED, Versions
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.counted import those
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.transport.broker_answers import ConfigEntry, ConfigsRefused, broker_configs
from kafka_reassign_rpc.transport.broker_links import (
    CONTROL_PLANE,
    LISTENER,
    PROTOCOL,
    BrokerLinks,
    listener_of_controller,
)

log = logging.getLogger(__name__)

ANSWER_TIMEOUT_S = 30.0
"""Kafka's controller.socket.timeout.ms."""
PATIENCE_S = 5.0
"""How long after a broker has registered requests wait for the first answers."""
FIRST_BACKOFF_S = 0.1
LONGEST_BACKOFF_S = 30.0

_ANY_AUTHORIZER = "one that does not let this server read it (DESCRIBE_CONFIGS)"
STATIC_BROKER_CONFIG, DEFAULT_CONFIG = 4, 5
"""Kafka's DescribeConfigsResponse.ConfigSource: what a broker was started with, and its defaults."""


class _Registration:
    """settings    those of `broker_settings.ASKED` that the broker has answered
    of_topics   what it has answered about the configs of topics
    tried       the first attempt to ask it is over, successful or not
    refuses      it does not report its settings
    """

    def __init__(self, broker: Broker, task: asyncio.Task[None]) -> None:
        self.broker = broker
        self.task = task
        self.settings: Mapping[str, Value] = {}
        self.of_topics: BrokerAnswer | None = None
        self.tried = self.refuses = False


class _Answer(NamedTuple):
    """settings, of_topics    as in `_Registration`
    looks_on               the listener by which it looks for its controller; None: any, or it has not said
    is_far                 it is not on this host
    """

    settings: Mapping[str, Value] = {}
    of_topics: BrokerAnswer | None = None
    looks_on: str | None = None
    is_far: bool = False


_NOTHING = _Answer()


class BrokerSurvey:
    """own         the settings that the operator gives this server, by Kafka's names
    refuses     this server refuses what a policy of the brokers would have to check
    """

    def __init__(
        self, client_id: str, links: BrokerLinks, own: Mapping[str, Value] | None = None, *, refuses: bool = True
    ) -> None:
        self._client_id = client_id
        self._links = links
        self._own = own or {}
        self._refuses = refuses
        self._registered: dict[int, _Registration] = {}
        self._versions: dict[int, Versions] = {}
        """Each broker's last answer about the APIs in `protocol.versions.SUPPORTED`, of absent brokers too."""
        self._last: dict[int, _Answer] = {}
        """Each broker's last answer, also of those that are away, or have come back and not answered again."""
        self._has_begun = False
        self._most_answered = self._is_over = False
        """Whether most brokers have answered, and whether all others had the time to; once true, both stay so."""
        self._patience_ends = 0.0
        self._go_on = asyncio.Event()
        """It wakes those that wait for the first survey."""
        self._silent_about: set[str] = set()
        self._logged: frozenset[tuple[str, frozenset[Value]]] = frozenset()
        self._evaluation: asyncio.Handle | None = None
        self.on_settings: Callable[[], None] = lambda: None
        """Is called when `settings` or `news` may have changed."""
        self.revision = 0
        """It changes with everything that the survey knows of API versions."""
        self.settings = broker_settings.in_force(self._own, (), AT_FIRST)
        """The settings in force: see `core.settings.broker_settings`."""
        self.policies: Mapping[str, str] = {}
        """The policies of brokers that this server has to respect, by the names of their settings."""
        self.lets_all_in: bool | None = None
        """Whether the brokers, as far as they have answered, have no authorizer; None while none has answered."""
        self._evaluated = asyncio.Event()
        """Is set, and replaced, at each evaluation."""
        self.on_authorizer: Callable[[], None] = lambda: None
        """Is called when `lets_all_in` has changed."""
        self._looking: Mapping[int, tuple[str, bool]] = {}
        self.on_listeners: Callable[[], None] = lambda: None
        """Is called when brokers look for their controller on others than before."""

    @property
    def brokers(self) -> Iterable[int]:
        return self._registered.keys()

    @property
    def of_topics(self) -> Mapping[int, BrokerAnswer | None]:
        return {id_: one.of_topics for id_, one in self._registered.items()}

    @property
    def last_of_topics(self) -> Mapping[int, BrokerAnswer | None]:
        """A broker that has not answered again has its former answer. If no broker is registered, all that were are
        included."""
        answered = {id_: one.of_topics for id_, one in self._last.items() if one.of_topics is not None}
        return {id_: answered.get(id_) for id_ in self._registered or answered}

    @property
    def has_asked_all(self) -> bool:
        """Whether each registered broker has answered, or has had the time to."""
        return self._has_begun and all(one.tried for one in self._registered.values())

    async def unknown(self, names: Collection[str], seconds: float) -> Collection[str]:
        """Waits for the first survey. Returns those of these settings and policies that are needed, that the operator
        has not given, and that most brokers have not answered.

        A policy is needed if a broker refuses to report its settings. Silent brokers keep no client from creating
        topics and changing configs, such as throttles: a warning says that no policy was checked.
        """
        asked = [name for name in names if name not in self._own and (self._refuses or name not in POLICIES)]
        if asked and self._registered and not self._is_over:
            left = self._patience_ends - asyncio.get_running_loop().time()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._go_on.wait(), max(0.0, min(seconds, left)))
        if not self._registered or self._most_answered:
            return ()
        if any(one.refuses for one in self._registered.values()):
            return asked
        self._warn_of_silence([name for name in asked if name in POLICIES])
        return [name for name in asked if name not in POLICIES]

    @property
    def had_time_to_say(self) -> bool:
        return self.has_asked_all or (self._has_begun and asyncio.get_running_loop().time() >= self._patience_ends)

    async def first_answer(self) -> None:
        """Waits until a broker has answered, or all have had the time to."""
        await self._evaluated_until(lambda: self.lets_all_in is not None or self.had_time_to_say)

    def looking(self) -> Mapping[int, tuple[str, bool]]:
        """The listener on which each broker looks for its controller, as far as they have said, and whether the broker
        is on another host. One that is asked again counts as before.
        """
        known = {id_: self._last[id_] for id_ in self._registered if id_ in self._last}
        return {id_: (one.looks_on, one.is_far) for id_, one in known.items() if one.looks_on is not None}

    async def all_answered(self) -> None:
        """Waits until each has answered or refused to, at most `PATIENCE_S` after the last one has come. A broker
        registers before it accepts connections: a first attempt that failed says nothing yet."""
        await self._evaluated_until(
            lambda: (
                self._has_begun and all(one.of_topics is not None or one.refuses for one in self._registered.values())
            )
        )

    async def _evaluated_until(self, done: Callable[[], bool]) -> None:
        now = asyncio.get_running_loop().time()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self._patience_ends if self._has_begun else now + PATIENCE_S):
                while not done():
                    await self._evaluated.wait()

    @property
    def authorizer(self) -> str | None:
        """The class of the authorizer that any broker has; "" once each registered one has said that it has none, None
        before."""
        return broker_settings.authorizer([one.settings for one in self._registered.values()])

    @property
    def last_authorizer(self) -> str:
        """The authorizer that any broker last had: the reason why no client is let in."""
        return broker_settings.authorizer(self._last_settings()) or ""

    @property
    def migrating(self) -> frozenset[int]:
        """Those that were restarted for the migration to KRaft. One that is asked again counts as before."""
        return broker_settings.migrating(
            {id_: one.settings for id_, one in self._last.items() if id_ in self._registered}
        )

    @property
    def silent(self) -> str:
        if not self._registered:
            return "ZooKeeper has ACLs, and no broker is registered"
        unheard = those(self._registered.keys() - self._last.keys(), most=broker_settings.SHOWN_BROKERS)
        return f"ZooKeeper has ACLs, and no answer came from {unheard}"

    def stop_waiting(self) -> None:
        self._go_on.set()
        self._go_on = asyncio.Event()

    def versions(self) -> Iterable[Versions]:
        """The API versions that clients may count on, each set once.

        A broker that is away, or has not answered again since it came back, counts as before: clients keep the versions
        that they have learnt. One that has never answered counts as the oldest supported one; before the first
        `set_brokers` there may be such brokers. A cluster that has had no broker counts as one of the newest.
        """
        if self._has_begun and not self._registered and not self._versions:
            return (OF_NEWEST_BROKER,)
        found = {id(versions): versions for versions in self._versions.values()}
        if not found or not self._versions.keys() >= self._registered.keys():
            found[id(OF_OLDEST_BROKER)] = OF_OLDEST_BROKER
        return found.values()

    def news(self) -> Sequence[str]:
        """What an operator should know about settings of brokers, each difference once until it changes; nothing while
        some broker still has time to answer."""
        if not self.has_asked_all:
            return ()
        answered = {id_: one.settings for id_, one in self._registered.items()}
        found = list(broker_settings.differences(self._own, answered, self.settings, refuses=self._refuses))
        logged, self._logged = self._logged, frozenset((one.name, one.values) for one in found)
        return [one.text for one in found if (one.name, one.values) not in logged]

    def set_brokers(self, brokers: Mapping[int, Broker]) -> None:
        self._has_begun = True
        self.revision += 1
        for id_, one in list(self._registered.items()):
            if brokers.get(id_) != one.broker:
                one.task.cancel()
                del self._registered[id_]
        for id_, broker in brokers.items():
            if id_ not in self._registered:
                self._patience_ends = asyncio.get_running_loop().time() + PATIENCE_S
                task = asyncio.create_task(self._ask(broker), name=f"survey-{id_}")
                self._registered[id_] = _Registration(broker, task)
        self._evaluate_soon()

    async def close(self) -> None:
        if self._evaluation is not None:
            self._evaluation.cancel()
        registered, self._registered = self._registered, {}
        await end(*(one.task for one in registered.values()))

    def _evaluate_soon(self) -> None:
        if self._evaluation is None:
            self._evaluation = asyncio.get_running_loop().call_soon(self._evaluate)

    def _evaluate(self) -> None:
        self._evaluation = None
        answered = [one.settings for one in self._registered.values()]
        before, self.settings = self.settings, broker_settings.in_force(self._own, answered, self.settings)
        self.policies = broker_settings.policies(answered, self.policies, refuses=self._refuses)
        let_in, self.lets_all_in = self.lets_all_in, broker_settings.lets_all_in(self._last_settings())
        if self.lets_all_in != let_in:
            self.on_authorizer()
        looked, self._looking = self._looking, self.looking()
        if self._looking != looked:
            self.on_listeners()
        if self.settings != before:
            log.info(
                "this server follows the brokers' settings: %s",
                broker_settings.as_configs(self.settings) or "Kafka's defaults",
            )
        self._most_answered |= 2 * sum(map(bool, answered)) > len(answered)
        self._is_over |= self._most_answered and self.has_asked_all
        self.on_settings()
        if self._is_over:
            self.stop_waiting()
        evaluated, self._evaluated = self._evaluated, asyncio.Event()
        evaluated.set()

    def _last_settings(self) -> Collection[Mapping[str, Value]]:
        known = {id_: one.settings for id_, one in self._last.items()}
        return [known.get(id_, {}) for id_ in self._registered or known]

    async def _ask(self, broker: Broker) -> None:
        backoff = Backoff(FIRST_BACKOFF_S, LONGEST_BACKOFF_S)
        while not await self._has_answered(broker):
            await backoff.sleep()

    async def _has_answered(self, broker: Broker) -> bool:
        try:
            client = await self._links.open(broker, self._client_id, ANSWER_TIMEOUT_S)
            try:
                self._versions_learnt(broker, await client.versions())
                entries = await broker_configs(client, broker.id, _ASKED)
                one = self._registered[broker.id]
                one.settings, one.of_topics = _settings(entries), _of_topics(entries)
                looks_on = listener_of_controller({entry.name: entry.value for entry in entries})
                is_far = not client.is_of_this_host
                self._last[broker.id] = _Answer(one.settings, one.of_topics, looks_on, is_far)
            finally:
                client.close()
        except ConfigsRefused as error:
            if error.is_unauthorized:
                before = self._last.get(broker.id, _NOTHING)
                self._last[broker.id] = before._replace(settings={broker_settings.AUTHORIZER: _ANY_AUTHORIZER})
            self._warn_of_refusal(broker, error)
            return False
        except (OSError, TimeoutError, EOFError, ProtocolError) as error:
            log.debug(
                "broker %d does not report its versions and settings, and is asked again: %s",
                broker.id,
                error or type(error).__name__,
            )
            return False
        except Exception:
            log.exception(
                "a defect while broker %d was asked for its versions and settings; it is asked again", broker.id
            )
            return False
        else:
            return True
        finally:
            self._attempt_is_over(broker)

    def _warn_of_silence(self, policies: Collection[str]) -> None:
        for name in policies:
            if name not in self._silent_about:
                self._silent_about.add(name)
                log.warning("most brokers have not reported their settings: whether they have %s is not known, and"
                " requests"
                            " go on without that check", name)  # fmt: skip

    def _warn_of_refusal(self, broker: Broker, error: ConfigsRefused) -> None:
        """Once for each registration."""
        one = self._registered[broker.id]
        one.refuses = True
        if not one.tried:
            unknown = ", ".join(name for name in broker_settings.ASKED if name not in self._own)
            log.warning("broker %d does not report its settings (%s): grant this server DESCRIBE_CONFIGS on the"
            " cluster. As long as most brokers do not report them, these are not known, and requests that need one are"
                        " refused: %s", broker.id, error, unknown)  # fmt: skip

    def _attempt_is_over(self, broker: Broker) -> None:
        one = self._registered.get(broker.id)
        if one is not None and one.broker == broker:
            one.tried = True
            self._evaluate_soon()

    def _versions_learnt(self, broker: Broker, answered: Versions) -> None:
        versions = {key: found for key, found in answered.items() if key in SUPPORTED}
        same = (known for known in self._versions.values() if known == versions)
        self._versions[broker.id] = next(same, versions)
        self.revision += 1


_ASKED = tuple(dict.fromkeys((*broker_settings.ASKED, *config_layers.ASKED, CONTROL_PLANE, LISTENER, PROTOCOL)))


def _settings(entries: Iterable[ConfigEntry]) -> Mapping[str, Value]:
    found: dict[str, Value] = {}
    for entry in entries:
        text = _at_start(entry) if entry.name in broker_settings.ASKED else None
        value = None if text is None else broker_settings.parse(entry.name, text)
        if value is not None:
            found[entry.name] = value
    return found


def _of_topics(entries: Sequence[ConfigEntry]) -> BrokerAnswer:
    asked = [entry for entry in entries if entry.name in config_layers.ASKED]
    static = {
        place.name: place.value
        for entry in asked
        for place in entry.synonyms or ()
        if place.name == entry.name and place.source == STATIC_BROKER_CONFIG and place.value is not None
    }
    protocol = next((_at_start(entry) for entry in asked if entry.name == PROTOCOL_VERSION), None)
    return BrokerAnswer(frozenset(entry.name for entry in asked), static, protocol or "")


def _at_start(entry: ConfigEntry) -> str | None:
    """The static value, else the default: this server knows the dynamic ones, which go before, itself."""
    for synonym in entry.synonyms or ():
        if synonym.source in (STATIC_BROKER_CONFIG, DEFAULT_CONFIG):
            return synonym.value
    return entry.value if entry.config_source in (STATIC_BROKER_CONFIG, DEFAULT_CONFIG) else None


_CURE = "give it theirs, or allow everything to every client here by --broker-authorizer ignore"


class BrokersDoor:
    """`acls_exist`: whether ZooKeeper has a place for ACLs, which AclAuthorizer makes as it starts. It decides if no
    broker answers in time: brokers that are away may have an authorizer."""

    def __init__(self, survey: BrokerSurvey) -> None:
        self._survey = survey
        self.acls_exist = False

    @property
    def is_open(self) -> bool:
        """A broker has said that it has no authorizer, and none that it has one; or no broker says anything."""
        said = self._survey.lets_all_in
        return not self.acls_exist and self._survey.had_time_to_say if said is None else said

    @property
    def may_control(self) -> bool:
        return self._survey.lets_all_in is not False

    @property
    def why_closed(self) -> str:
        if not self.may_control:
            name = self._survey.last_authorizer
            return f"The brokers have {AUTHORIZER}={name}, and this server has no authorizer: {_CURE}"
        return f"No broker has said that it has no authorizer ({self._survey.silent}): try again, {_CURE}"

    async def known(self) -> None:
        await self._survey.first_answer()
