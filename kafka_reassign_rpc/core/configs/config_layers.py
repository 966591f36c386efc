"""Where a broker finds the value of a config, and which layer wins."""

from collections import Counter
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kafka_reassign_rpc.core.configs.config_definitions import BROKER_CONFIGS, broker_synonyms

Configs = Mapping[str, str]


_NONE: Configs = MappingProxyType({})


class ConfigLayers(NamedTuple):
    """A broker's dynamic configs, those of the cluster, and what it was started with: the strongest first."""

    own: Configs = _NONE
    defaults: Configs = _NONE
    static: Configs = _NONE

    def effective(self) -> dict[str, str]:
        """DynamicBrokerConfig.overrideProps: a value hides all its synonyms in weaker layers.

        One for a single listener hides no value for all: other listeners may use that.
        """
        found = dict(self.static)
        for layer in (self.defaults, self.own):
            for name, value in layer.items():
                for synonym in broker_synonyms(name) if name in BROKER_CONFIGS else (name,):
                    found.pop(synonym, None)
                found[name] = value
        return found


def common(of_brokers: Collection[Configs]) -> dict[str, str]:
    """What more than half of the brokers have."""
    counts = Counter(pair for configs in of_brokers for pair in configs.items())
    return {name: value for (name, value), count in counts.items() if 2 * count > len(of_brokers)}
