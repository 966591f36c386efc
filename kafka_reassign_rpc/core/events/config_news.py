"""The event of a change of dynamic configs."""

from collections.abc import Iterator, Mapping

from kafka_reassign_rpc.core.configs.config_definitions import BROKER_CONFIGS, TOPIC_CONFIGS
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.quotas.client_quotas import QUOTA_NAMES
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.support.bounded_text import shortened, word
from kafka_reassign_rpc.support.counted import first_of

SHOWN = 5
"""Changed configs that the event shows; of others it has the number."""
LONGEST = 100
"""Characters of a name or a value."""
_OF_KAFKA = (*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values())
_SHOWN_VALUES = {one.name for one in _OF_KAFKA if not one.sensitive} | SERVER_SETTINGS.keys() | QUOTA_NAMES
"""Configs whose values are shown. Others are passwords, or may be a plug-in's secrets, or credentials."""


def config_changed(
    of: str, before: Mapping[str, str], after: Mapping[str, str], *, topic: str | None = None, broker: int | None = None
) -> Event | None:
    """The event, without who asked; None: nothing has changed. `of`: for people, whose configs these are."""
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    if not changed:
        return None
    reason = f"{of}: {first_of([*_shown(changed[:SHOWN], before, after)], SHOWN, of=len(changed))}"
    return Event(catalogue.CONFIG_CHANGED, topic=topic, broker=broker, reason=reason)


def _shown(names: list[str], before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in names:
        is_shown = name in _SHOWN_VALUES
        yield f"{word(name, LONGEST)} {_value(before.get(name), is_shown)} -> {_value(after.get(name), is_shown)}"


def _value(value: str | None, is_shown: bool) -> str:
    if value is None:
        return "unset"
    return (shortened(value, LONGEST) or '""') if is_shown else "(hidden)"
