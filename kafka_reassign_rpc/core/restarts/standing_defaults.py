"""Which existing cluster-wide configs brokers cannot use."""

from collections.abc import Iterator, Mapping, Sequence

from kafka_reassign_rpc.core.configs.broker_config_rules import (
    NOT_APPLIED,
    REPORTERS,
    applied,
    judge_standing,
)
from kafka_reassign_rpc.core.configs.config_definitions import ConfigValueError, ignored_default
from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers, Configs
from kafka_reassign_rpc.core.restarts.broker_values import later_trouble

_LISTENERS = "listeners"
_BY_DEFAULT = "PLAINTEXT://:9092"


def troubles(defaults: Configs, brokers: Mapping[int, ConfigLayers]) -> Iterator[tuple[Sequence[str], str]]:
    """Minimal sets of configs that together do harm, each with the reason.

    Brokers whose own and static configs are unknown are not judged, nor is metric.reporters: only the broker knows
    which classes it can load.
    """
    for name, value in defaults.items():
        why = ignored_default(name, value)
        if why is not None:
            yield [name], f"brokers leave it out: {why}"
    judged = {name: value for name, value in sorted(applied(defaults).items()) if name != REPORTERS}
    found: dict[str, list[int]] = {}
    for broker, layers in sorted(brokers.items()):
        harm = _harm(judged, layers)
        if harm is not None:
            found.setdefault(harm, []).append(broker)
    named: dict[tuple[str, ...], str] = {}
    for ids in found.values():
        for names, harm in _least_harmful(judged, brokers[ids[0]]):
            named.setdefault(names, f"brokers such as {ids[0]} ({len(ids)} of {len(brokers)}) {harm}")
    yield from named.items()


def _least_harmful(defaults: Configs, layers: ConfigLayers) -> Iterator[tuple[tuple[str, ...], str]]:
    """None can be left out without ending the harm."""
    rest = dict(defaults)
    while _harm(rest, layers) is not None:
        least = dict(rest)
        for name in rest:
            without = {other: value for other, value in least.items() if other != name}
            if _harm(without, layers) is not None:
                least = without
        harm = _harm(least, layers)
        if harm is None or not least:  # the broker's own configs do it
            return
        yield tuple(least), harm
        rest = {name: value for name, value in rest.items() if name not in least}


def _harm(defaults: Configs, layers: ConfigLayers) -> str | None:
    configs = layers._replace(defaults=defaults).effective()
    try:
        for listener in _listeners(configs):
            judge_standing(layers.static, defaults, layers.own, listener)
        later = later_trouble(configs, configs)
    except ConfigValueError as error:
        return f"{NOT_APPLIED}: {error}"
    return None if later is None else f"accept that, but {later}"


def _listeners(configs: Configs) -> list[str]:
    addresses = configs.get(_LISTENERS, _BY_DEFAULT).split(",")
    return [address.partition("://")[0].strip().lower() for address in addresses]
