"""Client quotas (KIP-546), and which of them holds for a client. Of Kafka 3.9: QuotaConfigs,
ZkAdminManager.describeClientQuotas and alterClientQuotas, ClientQuotaManager.DefaultQuotaCallback.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Address
from typing import NamedTuple

from kafka_reassign_rpc.core.config_values import INT32, INT64, double, trim
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, UnsupportedVersion
from kafka_reassign_rpc.support.bounded_text import shortened

USER, CLIENT_ID, IP = "user", "client-id", "ip"
SHAPES: tuple[tuple[str, ...], ...] = ((USER,), (CLIENT_ID,), (USER, CLIENT_ID), (IP,))
"""Combinations of entity types that can have quotas."""

EXACT, DEFAULT, SPECIFIED = 0, 1, 2
"""Match types of a filter: a name, the default entity, every entity of the type."""

LONGEST_NAME = 1024

QuotaEntity = tuple[tuple[str, str | None], ...]
"""(entity type, name) for each type of a shape, in its order; the name None is the default of all others."""

_INT, _LONG = INT32, INT64
_CLIENT_QUOTAS: Mapping[str, int | None] = {
    "producer_byte_rate": _LONG,
    "consumer_byte_rate": _LONG,
    "request_percentage": None,
    "controller_mutation_rate": None,
}
_IP_QUOTAS: Mapping[str, int | None] = {"connection_creation_rate": _INT}
"""The highest value of each quota that is a whole number; None: any number."""
QUOTA_NAMES = _CLIENT_QUOTAS.keys() | _IP_QUOTAS.keys()

_EPSILON = 1e-6
"""Kafka takes a value this close to a whole number for that number."""


class FilterComponent(NamedTuple):
    """Only EXACT has a `name`."""

    entity_type: str
    match_type: int
    name: str | None


class QuotaFilter(NamedTuple):
    """A checked filter.

    exact     names that entities must have, by entity type; None: the default entity
    any_name  entity types that entities must have, with any name
    strict    entities may have no other types
    """

    exact: Mapping[str, str | None]
    any_name: frozenset[str]
    strict: bool

    def shapes(self) -> Iterator[tuple[str, ...]]:
        asked = self.exact.keys() | self.any_name
        for shape in SHAPES:
            if asked == set(shape) if self.strict else asked <= set(shape):
                yield shape


def quota_filter(components: Sequence[FilterComponent], *, strict: bool) -> QuotaFilter:
    """Raises InvalidRequest, UnsupportedVersion."""
    exact: dict[str, str | None] = {}
    any_name: set[str] = set()
    for kind, match_type, name in components:
        if not kind:
            raise InvalidRequest("Unexpected empty filter component entity type")
        if kind not in (USER, CLIENT_ID, IP):
            raise UnsupportedVersion(f"Custom entity type '{shortened(kind)}' not supported")
        if kind in exact or kind in any_name:
            raise InvalidRequest(f"Duplicate {'client' if kind == CLIENT_ID else kind} filter component entity type")
        if match_type == SPECIFIED:
            any_name.add(kind)
        elif match_type == DEFAULT or (match_type == EXACT and name is not None):
            exact[kind] = name if match_type == EXACT else None
        else:
            raise InvalidRequest(f"Unexpected match type {match_type}, or a name is missing")
    asked = exact.keys() | any_name
    if IP in asked and len(asked) > 1:
        raise InvalidRequest(
            "Invalid entity filter component combination, IP filter component should not be used with user or clientId "
            "filter component."
        )
    return QuotaFilter(exact, frozenset(any_name), strict)


def can_be_a_name(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and name not in (".", "..")


def quota_entity(parts: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """Raises InvalidRequest."""
    given: dict[str, str | None] = {}
    for kind, name in parts:
        if kind not in (USER, CLIENT_ID, IP):
            raise InvalidRequest(f"Unhandled client quota entity type: {shortened(kind)}")
        if name == "":
            raise InvalidRequest(f"Empty {kind} not supported")
        if name is not None and not can_be_a_name(name):
            raise InvalidRequest(
                f"The name of a {kind} has at most {LONGEST_NAME} characters, and is neither '.' nor '..'"
            )
        if kind == IP and name is not None and not _is_ipv4(name):
            raise InvalidRequest(
                f"{name} is not a valid IP or resolvable host. This server takes IPv4 addresses and resolves no names."
            )
        given[kind] = name
    if not given:
        raise InvalidRequest("Invalid empty client quota entity")
    for shape in SHAPES:
        if given.keys() == set(shape):
            return tuple((kind, given[kind]) for kind in shape)
    raise InvalidRequest("Invalid quota entity combination, IP entity should not be used with user/client ID entity.")


def quotas_of(entity: QuotaEntity, configs: Mapping[str, str]) -> dict[str, float]:
    """Without values that are no numbers to Java."""
    read = {name: double(trim(configs[name])) for name in _quotas(entity) if name in configs}
    return {name: value for name, value in read.items() if value is not None and math.isfinite(value)}


class QuotaChange(NamedTuple):
    """None removes the quota."""

    name: str
    value: float | None


def change_quotas(entity: QuotaEntity, changes: Iterable[QuotaChange], configs: Mapping[str, str]) -> dict[str, str]:
    """Raises InvalidRequest."""
    wanted = dict(configs)
    known = _quotas(entity)
    for name, value in changes:
        if value is None:
            wanted.pop(name, None)
        elif name not in known:
            raise InvalidRequest(f"Invalid configuration key {shortened(name)}")
        else:
            wanted[name] = _as_text(name, value, known[name])
    return wanted


def _is_ipv4(name: str) -> bool:
    """Kafka refuses IPv6 addresses too, since it looks up the quoted name."""
    try:
        IPv4Address(name)
    except ValueError:
        return False
    return True


def _quotas(entity: QuotaEntity) -> Mapping[str, int | None]:
    return _IP_QUOTAS if entity[0][0] == IP else _CLIENT_QUOTAS


def _as_text(name: str, value: float, highest: int | None) -> str:
    if not math.isfinite(value):
        raise InvalidRequest(f"Configuration {name} must be a finite number")
    if highest is None:
        return repr(value)
    whole = min(int(value + _EPSILON), highest)  # as Java's conversion: a larger number is the highest
    if abs(float(whole) - value) > _EPSILON:
        raise InvalidRequest(f"Configuration {name} must be a {'INT' if highest == _INT else 'LONG'} value")
    return str(whole)


MOST_FOUND = 1_000

Sharers = tuple[str | None, str | None]
"""(user, client id) of those who share what a quota allows; None: all."""


def entities(user: str, client_id: str) -> list[tuple[QuotaEntity, Sharers]]:
    """The entities whose quota may hold for a client, with those who share it; the first wins.

    Client ids too long for a znode share one with those that begin alike: an id can have 32 KiB, and each is kept.
    """
    one, another = user[: LONGEST_NAME + 1], client_id[: LONGEST_NAME + 1]
    pair: Sharers = (one, another)
    found: list[tuple[QuotaEntity, Sharers]] = [
        (((USER, user), (CLIENT_ID, client_id)), pair),
        (((USER, user), (CLIENT_ID, None)), pair),
        (((USER, user),), (one, None)),
        (((USER, None), (CLIENT_ID, client_id)), pair),
        (((USER, None), (CLIENT_ID, None)), pair),
        (((USER, None),), (one, None)),
        (((CLIENT_ID, client_id),), (None, another)),
        (((CLIENT_ID, None),), (None, another)),
    ]
    return [(entity, key) for entity, key in found if all(name is None or can_be_a_name(name) for _, name in entity)]


class QuotaTable:
    """`revision` rises with each change."""

    def __init__(self) -> None:
        self._quotas: dict[QuotaEntity, Mapping[str, float]] = {}
        self._setting: Counter[str] = Counter()
        """How many entities set each quota."""
        self._found: dict[tuple[str, str, str], tuple[float, Sharers] | None] = {}
        """What `limit` has found since the last change: most requests come from few clients."""
        self.empty = True
        self.revision = 0

    def put(self, entity: QuotaEntity, configs: Mapping[str, str]) -> None:
        self._found.clear()
        self.revision += 1
        self._setting.subtract(self._quotas.pop(entity, {}).keys())
        found = quotas_of(entity, configs)
        if found:
            self._quotas[entity] = found
            self._setting.update(found.keys())
        self.empty = not self._quotas

    def keep_only(self, entities: Collection[QuotaEntity]) -> None:
        for gone in self._quotas.keys() - entities:
            self.put(gone, {})

    def sets(self, quota: str) -> bool:
        return self._setting.get(quota, 0) > 0

    def quota(self, quota: str, entity: QuotaEntity) -> float | None:
        return self._quotas.get(entity, {}).get(quota)

    def limit(self, quota: str, user: str, client_id: str) -> tuple[float, Sharers] | None:
        client = quota, user, client_id
        if client in self._found:
            return self._found[client]
        found = self._look_up(quota, user, client_id)
        if len(user) <= LONGEST_NAME and len(client_id) <= LONGEST_NAME:
            if len(self._found) >= MOST_FOUND:
                self._found.clear()
            self._found[client] = found
        return found

    def _look_up(self, quota: str, user: str, client_id: str) -> tuple[float, Sharers] | None:
        for entity, sharers in entities(user, client_id):
            found = self.quota(quota, entity)
            if found is not None:
                return found, sharers
        return None
