"""The quotas of all users, clients and IPs in memory, and which of them holds for a client.

Source: ClientQuotaManager.DefaultQuotaCallback (Kafka 3.9).
"""

from collections import Counter
from collections.abc import Collection, Mapping

from kafka_reassign_rpc.core.quotas.client_quotas import (
    CLIENT_ID,
    LONGEST_NAME,
    USER,
    QuotaEntity,
    can_be_a_name,
    quotas_of,
)

MOST_FOUND = 1_000
"""Clients whose quota is remembered."""

Sharers = tuple[str | None, str | None]
"""(user, client id): who shares what a quota allows. None: all."""


def entities(user: str, client_id: str) -> list[tuple[QuotaEntity, Sharers]]:
    """The entities whose quota may hold for a client, with those who share it; the first takes precedence.

    No entity has a name that no znode can have. Clients whose ids are longer than that share what is allowed to those
    that begin like theirs: a client id can have 32 KiB, and each that has a quota is kept.
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
    """The quotas by entity. Whoever knows ZooKeeper fills it."""

    def __init__(self) -> None:
        self._quotas: dict[QuotaEntity, Mapping[str, float]] = {}
        self._setting: Counter[str] = Counter()
        """How many entities set each quota."""
        self._found: dict[tuple[str, str, str], tuple[float, Sharers] | None] = {}
        """What `limit` has found since the last change: most requests come from few clients."""

    def put(self, entity: QuotaEntity, configs: Mapping[str, str]) -> None:
        """The configs that an entity has from now on."""
        self._found.clear()
        self._setting.subtract(self._quotas.pop(entity, {}).keys())
        found = quotas_of(entity, configs)
        if found:
            self._quotas[entity] = found
            self._setting.update(found.keys())

    def keep_only(self, entities: Collection[QuotaEntity]) -> None:
        """No other entities exist."""
        for gone in self._quotas.keys() - entities:
            self.put(gone, {})

    @property
    def empty(self) -> bool:
        """Whether no entity sets any quota."""
        return not self._quotas

    def sets(self, quota: str) -> bool:
        """Whether any entity sets this quota."""
        return self._setting.get(quota, 0) > 0

    def quota(self, quota: str, entity: QuotaEntity) -> float | None:
        """The quota that this very entity sets."""
        return self._quotas.get(entity, {}).get(quota)

    def limit(self, quota: str, user: str, client_id: str) -> tuple[float, Sharers] | None:
        """The quota that holds for a client, and who shares it; None where there is none."""
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
