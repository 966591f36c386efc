"""The quotas of users, clients and IPs that the cluster has, for requests that are answered here."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.quotas.client_quotas import IP, QuotaEntity
from kafka_reassign_rpc.core.quotas.quota_table import QuotaTable
from kafka_reassign_rpc.support.host_port import resolved
from kafka_reassign_rpc.support.turns import Pace

log = logging.getLogger(__name__)

AGAIN_S = 10.0
"""Between two questions: so late a change holds here at most."""

Quotas = Mapping[QuotaEntity, Mapping[str, str]]


class ClusterQuotas:
    """`ask` raises KafkaError. What was told last holds until the cluster tells again."""

    def __init__(self, ask: Callable[[], Awaitable[Quotas]]) -> None:
        self.table = QuotaTable()
        self._ask = ask
        self._known: Quotas = {}
        self._trouble = ""

    async def run(self) -> None:
        while True:
            await self.read()
            await asyncio.sleep(AGAIN_S)

    async def read(self) -> None:
        try:
            found = await self._ask()
        except KafkaError as error:
            if not self._trouble:
                log.warning("quotas of clients are those that were known last: %s", error)
            self._trouble = str(error)
            return
        self._trouble, pace = "", Pace()
        quotas = {await _counting(entity): values for entity, values in found.items()}
        for entity, values in quotas.items():
            if self._known.get(entity) != values:
                self.table.put(entity, values)
            await pace.rest()
        if quotas.keys() != self._known.keys():
            self.table.keep_only(quotas.keys())
        self._known = quotas


async def _counting(entity: QuotaEntity) -> QuotaEntity:
    """With the address of an IP that is set by the name of a host. Without one the quota has no effect."""
    [(kind, name), *_] = entity
    return ((IP, await resolved(name) or name),) if kind == IP and name is not None else entity
