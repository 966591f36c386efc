"""Which value of a setting counts: that of all servers, else that among the brokers' defaults, else the server's own.

The servers' settings stand in `/admin/reassignment_settings`. Up to version 0.1 they stood among the cluster-wide
configs of brokers (`/config/brokers/<default>`), where brokers show names that they do not know as secrets, so that
stock tools refuse to change any default beside them. This version reads them there still, and warns.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.support.bounded_text import shortened

T = TypeVar("T")

SETTINGS_ZNODE = "/admin/reassignment_settings"
IN_DEFAULTS = "the brokers' default configs"
HOW_TO_MOVE = "move them with `kafka-reassign settings --move`"


def layers(cluster: Cluster) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Where a setting may stand, the strongest first."""
    return cluster.settings, cluster.default_configs


def in_force(cluster: Cluster, name: str, parse: Callable[[str], T | None], default: T) -> T:
    """The value of the strongest layer that has a valid one."""
    for layer in layers(cluster):
        found = parse(layer.get(name, ""))
        if found is not None:
            return found
    return default


def notices(settings: Mapping[str, str], own_in_defaults: Mapping[str, str]) -> Iterator[str]:
    """What an operator has to know about settings among the brokers' defaults, in the order of their names.

    own_in_defaults  the settings of servers that stand there
    """
    for name, value in sorted(own_in_defaults.items()):
        old, new = shortened(value), settings.get(name)
        if new is None:
            yield f"{name}={old} holds, but stands in {IN_DEFAULTS}, which a later version does not read"
        elif new == value:
            yield f"{name}={old} of {IN_DEFAULTS} is superfluous: it stands in {SETTINGS_ZNODE}, too"
        else:
            yield f"{name}={shortened(new)} of {SETTINGS_ZNODE} holds; {old} of {IN_DEFAULTS} has no effect"
