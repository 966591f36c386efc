"""Which value of a setting counts: that of all servers, else that among the brokers' defaults, else the server's own.

Up to version 0.1 `/config/brokers/<default>` held the settings. Brokers take unknown names there for secrets, so that
stock tools refuse to change any default beside them. This version still reads them, and warns.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.support.bounded_text import shortened
from kafka_reassign_rpc.support.typed_commands import command

T = TypeVar("T")

SETTINGS_ZNODE = "/admin/reassignment_settings"
IN_DEFAULTS = "the brokers' default configs"
MOVE_SETTINGS = f"move them with `{command('kafka-reassign settings', '--move')}`"


def layers(cluster: Cluster) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The strongest layer comes first."""
    return cluster.settings, cluster.default_configs


def in_force(cluster: Cluster, name: str, parse: Callable[[str], T | None], default: T) -> T:
    """The value of the strongest layer with a valid one. Only a layer without the name has no value; an empty text is
    one.
    """
    for layer in layers(cluster):
        found = parse(layer[name]) if name in layer else None
        if found is not None:
            return found
    return default


def set_by(cluster: Cluster, name: str) -> Requester | None:
    """Who set or last deleted the value that holds for all servers, None if unknown."""
    if cluster.settings_problem or (name not in cluster.settings and name in cluster.default_configs):
        return None
    return cluster.settings_by.get(name)


def notices(settings: Mapping[str, str], own_in_defaults: Mapping[str, str]) -> Iterator[str]:
    """What an operator must know about settings of servers among the brokers' defaults (`own_in_defaults`)."""
    for name, value in sorted(own_in_defaults.items()):
        old, new = shortened(value), settings.get(name)
        if new is None:
            yield f"{name}={old} holds, but stands in {IN_DEFAULTS}, which a later version does not read"
        elif new == value:
            yield f"{name}={old} of {IN_DEFAULTS} is superfluous: it stands in {SETTINGS_ZNODE}, too"
        else:
            yield f"{name}={shortened(new)} of {SETTINGS_ZNODE} holds; {old} of {IN_DEFAULTS} has no effect"
