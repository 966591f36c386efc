"""All quotas, and which of them holds for a client (ClientQuotaManager.DefaultQuotaCallback, Kafka 3.9)."""

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
