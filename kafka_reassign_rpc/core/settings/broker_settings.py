"""Settings that a Kafka controller has from the configuration of its broker, and how this server learns them.

The operator's value wins, else the value with which more than half of the registered brokers were started; without a
majority the former one, at first Kafka's default, so that neither a minority nor a silent broker switches anything. A
dynamic config takes precedence where Kafka has one. `delete.topic.enable` is unknown at first: while brokers may forbid
deletions, nothing is deleted.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from kafka_reassign_rpc.core.config_values import INT32, flag, number
from kafka_reassign_rpc.support.counted import those

MIGRATION = "zookeeper.metadata.migration.enable"
PROTOCOL_VERSION = "inter.broker.protocol.version"
CREATE_TOPIC_POLICY = "create.topic.policy.class.name"
ALTER_CONFIG_POLICY = "alter.config.policy.class.name"
AUTHORIZER = "authorizer.class.name"
POLICIES: Mapping[str, str] = {CREATE_TOPIC_POLICY: "CreateTopics", ALTER_CONFIG_POLICY: "changes of configs"}
"""Settings that name a Java class which checks requests, and what each checks."""

Value = bool | int | str


class BrokerSettings(msgspec.Struct, frozen=True):
    """Kafka's names with `_` for `.`. With `delete_topic_enable` None (unknown) deletions wait."""

    num_partitions: int = 1
    default_replication_factor: int = 1
    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_seconds: int = 300
    leader_imbalance_per_broker_percentage: int = 10
    delete_topic_enable: bool | None = None


AT_FIRST = BrokerSettings()

KAFKA_DEFAULTS = replace(AT_FIRST, delete_topic_enable=True)

FIELDS: Mapping[str, str] = {field.replace("_", "."): field for field in BrokerSettings.__struct_fields__}

ASKED: tuple[str, ...] = (*FIELDS, MIGRATION, PROTOCOL_VERSION, AUTHORIZER, *POLICIES)
"""Configs that this server reads from brokers."""

_LEAST = {"leader.imbalance.per.broker.percentage": 0}
_LONGEST_TEXT = 50
_LONGEST_CLASS = 300
SHOWN_BROKERS = 10


def parse(name: str, text: str) -> Value | None:
    """None: the value is invalid."""
    if name == PROTOCOL_VERSION:
        return text[:_LONGEST_TEXT]
    if name in POLICIES or name == AUTHORIZER:
        return text[:_LONGEST_CLASS] or None
    if name == MIGRATION or isinstance(getattr(KAFKA_DEFAULTS, FIELDS[name]), bool):
        return flag(text)
    return number(text, _LEAST.get(name, 1), INT32)


def shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_configs(settings: BrokerSettings) -> dict[str, str]:
    """What differs from Kafka's defaults, as static configs of a broker."""
    defaults, found = asdict(KAFKA_DEFAULTS), asdict(settings)
    known = {name: found[field] for name, field in FIELDS.items() if found[field] not in (None, defaults[field])}
    return {name: shown(value) for name, value in known.items()}


def in_force(
    own: Mapping[str, Value], of_brokers: Collection[Mapping[str, Value]], before: BrokerSettings
) -> BrokerSettings:
    """The settings that hold now.

    own           the operator's values, by name
    of_brokers    one answer for every registered broker, empty: it has not answered
    """
    changes: dict[str, Value] = {}
    for name, field in FIELDS.items():
        if name in own:
            changes[field] = own[name]
            continue
        counts = Counter(answered[name] for answered in of_brokers if name in answered)
        for value, count in counts.most_common(1):
            if 2 * count > len(of_brokers):
                changes[field] = value
    return replace(before, **changes)


def policies(
    of_brokers: Collection[Mapping[str, Value]], before: Mapping[str, str], *, refuses: bool
) -> Mapping[str, str]:
    """The policies of any broker that this server respects, by setting.

    refuses   the server refuses what a policy would check, since it cannot run the class
    before    what it has respected, until every broker has answered
    """
    if not refuses:
        return {}
    found = {name: str(answered[name]) for answered in of_brokers for name in POLICIES if name in answered}
    return found if of_brokers and all(of_brokers) else {**before, **found}


def migrating(of_brokers: Mapping[int, Mapping[str, Value]]) -> frozenset[int]:
    """The brokers that say they were restarted for the migration to KRaft."""
    return frozenset(id_ for id_, answered in of_brokers.items() if answered.get(MIGRATION))


def authorizer(of_brokers: Collection[Mapping[str, Value]]) -> str | None:
    """The class of any broker; "": all have answered that they have none; None: unknown."""
    found = [str(answered[AUTHORIZER]) for answered in of_brokers if AUTHORIZER in answered]
    if found:
        return found[0]
    return "" if of_brokers and all(of_brokers) else None


def lets_all_in(of_brokers: Collection[Mapping[str, Value]]) -> bool | None:
    """Whether no broker that has answered has an authorizer; None: none has answered."""
    answered = [one for one in of_brokers if one]
    return not any(AUTHORIZER in one for one in answered) if answered else None


class Difference(NamedTuple):
    """It stays the same while `values`, those of brokers and the one in force, stay."""

    name: str
    values: frozenset[Value]
    text: str


def differences(
    own: Mapping[str, Value],
    of_brokers: Mapping[int, Mapping[str, Value]],
    settings: BrokerSettings,
    *,
    refuses: bool = True,
) -> Iterator[Difference]:
    """Where brokers differ from `settings` or from one another, and their policies. `refuses`: as in `policies`."""
    for name in ASKED:
        values = {answered[name] for answered in of_brokers.values() if name in answered}
        if name == MIGRATION:
            if True in values:
                where = those([id_ for id_, answered in of_brokers.items() if answered.get(name)], most=SHOWN_BROKERS)
                text = f"{name}=true on {where}: this server stands by once KRaft has taken over"
                yield Difference(name, frozenset({True}), text)
        elif name == AUTHORIZER and own.get(AUTHORIZER):
            yield from _other_authorizers(own[AUTHORIZER], of_brokers)
        elif name == AUTHORIZER or name in POLICIES:
            if values:
                text = (
                    f"{name}={_by_value(name, of_brokers)}: this server cannot run Java, so {_instead(name, refuses)}"
                )
                yield Difference(name, frozenset(values), text)
        elif name == PROTOCOL_VERSION:
            if len(values) > 1:
                yield Difference(name, frozenset(values), f"{name} differs: {_by_value(name, of_brokers)}")
        else:
            value: Value | None = getattr(settings, FIELDS[name])
            if value is None:
                if of_brokers:
                    yield Difference(name, frozenset(values), _unknown(name, of_brokers))
            elif values - {value}:
                why = "set for this server" if name in own else "in force here"
                text = f"{name}={shown(value)} is {why}, but the brokers have {_by_value(name, of_brokers)}"
                yield Difference(name, frozenset(values) | {value}, text)


def _other_authorizers(own: Value, of_brokers: Mapping[int, Mapping[str, Value]]) -> Iterator[Difference]:
    found = {id_: answered.get(AUTHORIZER, "none") for id_, answered in of_brokers.items() if answered}
    others = {id_: {AUTHORIZER: value} for id_, value in found.items() if value != own}
    if others:
        text = f"{AUTHORIZER}={own} is set for this server, but the brokers have {_by_value(AUTHORIZER, others)}"
        yield Difference(
            AUTHORIZER, frozenset(found.values()) | {own}, f"{text}: they do not decide as this server does"
        )


def _instead(name: str, refuses: bool) -> str:
    if name == AUTHORIZER:
        return (
            "it refuses all that needs a right, and does not control the cluster, unless --broker-authorizer is ignore"
        )
    return f"for {POLICIES[name]} it {'refuses them' if refuses else 'does not check them (--broker-policies ignore)'}"


def _unknown(name: str, of_brokers: Mapping[int, Mapping[str, Value]]) -> str:
    silent = [broker for broker, answered in of_brokers.items() if name not in answered]
    found = [_by_value(name, of_brokers)] if len(silent) < len(of_brokers) else []
    found += [f"no answer from {those(silent, most=SHOWN_BROKERS)}"] if silent else []
    return f"{name} is not known, so no topic is deleted: {'; '.join(found)}"


def _by_value(name: str, of_brokers: Mapping[int, Mapping[str, Value]]) -> str:
    found: dict[str, list[int]] = {}
    for broker, answered in of_brokers.items():
        if name in answered:
            found.setdefault(shown(answered[name]), []).append(broker)
    return "; ".join(f"{value} on {those(found[value], most=SHOWN_BROKERS)}" for value in sorted(found))
