"""Puts into force the settings that the survey learns from the brokers, and warns the operator, once, about settings of
servers that are among the brokers' defaults, or that cannot be read.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

from kafka_reassign_rpc.controller.commands.cluster_commands import BrokerSettingsLearnt
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.duties.broker_survey import BrokerSurvey
from kafka_reassign_rpc.controller.telemetry.event_recorder import Record
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.settings.server_settings import consequences, divided, is_of_healing
from kafka_reassign_rpc.core.settings.settings_in_force import MOVE_SETTINGS, notices
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster


class LearntSettings:
    """changed         called when others are in force, with the former `delete.topic.enable`
    deletion_known  set once `delete.topic.enable` is known, and at the end of the term
    """

    def __init__(
        self, survey: BrokerSurvey, loop: ControllerLoop, record: Record, changed: Callable[[bool | None], None]
    ) -> None:
        self.deletion_known = asyncio.Event()
        self._survey = survey
        self._loop = loop
        self._record = record
        self._changed = changed
        self._due = asyncio.Event()
        self._migrating: frozenset[int] = frozenset()
        """The loop knows of these in this term, and so ends leases."""
        self._asked: Mapping[int, Broker] | None = None
        self._check_deletion()
        self.ask_new_brokers()
        survey.on_settings = self._due.set

    def ask_new_brokers(self) -> None:
        brokers = self._loop.cluster.brokers
        if brokers != self._asked:
            self._asked = brokers
            self._survey.set_brokers(brokers)

    async def run(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            news = self._survey.news()
            if news:
                self._record([Event(catalogue.BROKER_SETTINGS_DIFFER, reason=text) for text in news])
            soft = self._loop.cluster.soft
            before, migrating = soft.broker_settings, self._survey.migrating
            if self._survey.settings != before or migrating != soft.migrating or migrating - self._migrating:
                with suppress(KafkaError):  # the loop logs one that fails
                    await self._loop.submit(BrokerSettingsLearnt(self._survey.settings, migrating))
                    self._migrating = migrating
                self._changed(before.delete_topic_enable)
                self._check_deletion()

    def stop(self) -> None:
        self._survey.on_settings = lambda: None
        self.deletion_known.set()

    def _check_deletion(self) -> None:
        if self._loop.cluster.soft.broker_settings.delete_topic_enable is not None:
            self.deletion_known.set()


log = logging.getLogger(__name__)


class SettingsNotices:
    """Serves the whole process: the terms of a server do not repeat each other."""

    def __init__(self) -> None:
        self._logged: frozenset[str] = frozenset()
        self._seen: tuple[object, ...] = ()

    def check(self, cluster: Cluster) -> None:
        """Logs what was not the case at the last call, of what is set for all servers. It costs nothing if nothing has
        changed."""
        seen = cluster.settings, cluster.default_configs, cluster.settings_problem
        if seen == self._seen:
            return
        self._seen = seen
        own, _ = divided(cluster.default_configs)
        problem = cluster.settings_problem
        found = [f"{one}; {MOVE_SETTINGS}" for one in notices(cluster.settings, own)]
        found += consequences({**own, **cluster.settings})
        if problem:
            found.append(
                f"{problem}: no new move and no repair starts until the znode is repaired or deleted, and new topics"
                " keep away only from brokers that this controller has known to be cordoned"
            )
        problems = cluster.soft.in_force.problems  # those of self-healing are events
        found += [text for name, text in problems.items() if not is_of_healing(name)]
        for text in found:
            if text not in self._logged:
                log.warning("%s", text)
        self._logged = frozenset(found)
