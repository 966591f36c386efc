"""Warns the operator, once, about settings of servers that are among the brokers' defaults, or that cannot be
read."""

import logging

from kafka_reassign_rpc.core.settings.server_settings import divided, is_of_healing
from kafka_reassign_rpc.core.settings.settings_in_force import MOVE_SETTINGS, notices
from kafka_reassign_rpc.core.state.cluster import Cluster

log = logging.getLogger(__name__)


class SettingsNotices:
    """Serves the whole process: the terms of a server do not repeat each other."""

    def __init__(self) -> None:
        self._logged: frozenset[str] = frozenset()
        self._seen: tuple[object, ...] = ()

    def check(self, cluster: Cluster) -> None:
        """Logs what was not the case at the last call. It costs nothing if nothing has changed."""
        seen = cluster.settings, cluster.default_configs, cluster.settings_problem
        if seen == self._seen:
            return
        self._seen = seen
        own, _ = divided(cluster.default_configs)
        problem = cluster.settings_problem
        found = [f"{one}; {MOVE_SETTINGS}" for one in notices(cluster.settings, own)]
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
