"""Warns the operator, once, of settings of servers that stand among the brokers' defaults, or that cannot be read."""

import logging

from kafka_reassign_rpc.core.server_settings import divided
from kafka_reassign_rpc.core.settings_in_force import HOW_TO_MOVE, notices
from kafka_reassign_rpc.core.state.cluster import Cluster

log = logging.getLogger(__name__)


class SettingsNotices:
    """For the whole process: the terms of a server do not repeat each other."""

    def __init__(self) -> None:
        self._told: frozenset[str] = frozenset()
        self._seen: tuple[object, ...] = ()

    def look(self, cluster: Cluster) -> None:
        """Log what was not the case when this was last called. Costs nothing where nothing has changed."""
        seen = cluster.settings, cluster.default_configs, cluster.settings_problem
        if seen == self._seen:
            return
        self._seen = seen
        own, _ = divided(cluster.default_configs)
        problem = cluster.settings_problem
        found = [f"{one}; {HOW_TO_MOVE}" for one in notices(cluster.settings, own)]
        if problem:
            found.append(f"{problem}: no new move and no repair starts until the znode is repaired or deleted")
        for text in found:
            if text not in self._told:
                log.warning("%s", text)
        self._told = frozenset(found)
