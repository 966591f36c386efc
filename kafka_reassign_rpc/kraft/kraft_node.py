"""This server as clients of the front see it, and what it says of itself; the settings of all servers as they read
and change them: these are records of the state log; and the quotas that the cluster has for them.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kafka_reassign_rpc.api.api_definition import Answer, Api, RequestContext
from kafka_reassign_rpc.api.config_ports import ConfigChange, ConfigPort, SettingsPort
from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.api.ports import LONGEST_WAIT_MS, NodeEndpoint, RecordedEvents, StatusPort
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesService
from kafka_reassign_rpc.controller.lifecycle.server_config import own_settings
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder, recorded_events
from kafka_reassign_rpc.core.config_values import BROKERS
from kafka_reassign_rpc.core.kafka_errors import InvalidConfig, KafkaError, NotController
from kafka_reassign_rpc.core.quotas.client_quotas import IP, QuotaEntity, QuotaTable
from kafka_reassign_rpc.core.settings.reassignment_settings import ReassignmentSettings
from kafka_reassign_rpc.core.settings.server_settings import MovedSettings, divided
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.kraft.front.answer_patches import SETTINGS_APIS, is_ours
from kafka_reassign_rpc.kraft.kraft_commands import ChangeSettings
from kafka_reassign_rpc.support.host_port import Address, resolved
from kafka_reassign_rpc.support.turns import Pace


class ServedSettings:
    """The `ConfigPort` and the `SettingsPort` of a server in front of KRaft; all else that is configured is the
    cluster's own. Each method raises NotController while this server does not lead.
    """

    def __init__(self, own_id: int, service: MovesService) -> None:
        self._own = BROKERS, str(own_id)
        self._service = service

    async def get(self, entity_type: str, name: str) -> Mapping[str, str]:
        cluster = self._service.cluster
        if cluster is None:
            raise NotController
        return cluster.settings if (entity_type, name) == self._own else {}

    async def read(self, entity_type: str, name: str) -> Mapping[str, str]:
        return await self.get(entity_type, name)

    async def alter(self, entity_type: str, name: str, change: ConfigChange, by: Requester) -> None:
        assert (entity_type, name) == self._own, "all others are relayed"

        def checked(current: Mapping[str, str]) -> Mapping[str, str]:
            wanted, others = divided(change(current))
            if others:
                raise InvalidConfig(f"{', '.join(sorted(others))}: servers in front of KRaft have only settings")
            return wanted

        await self._service.submit(ChangeSettings(checked, by))

    async def move(self, _by: Requester) -> MovedSettings:
        """Nothing: settings never were among the defaults of brokers in KRaft mode."""
        return MovedSettings()


def _of_any_node(api: Api) -> Api:
    """Whatever node a client takes for the controller: the settings are the same."""

    async def handle(node: Any, request: Any, ctx: RequestContext) -> Answer:
        [asked] = request.resources
        named, asked.resource_name = asked.resource_name, str(node.node_id)
        answer: Any = await api.handle(node, request, ctx)  # type: ignore[misc]
        for result in getattr(answer, _RESULTS[api.key]):
            result.resource_name = named
        return answer  # type: ignore[no-any-return]

    return replace(api, handle=handle)


_RESULTS = {32: "results", 44: "responses"}
APIS: Mapping[int, Api] = {key: _of_any_node(SERVER_APIS[key]) for key in SETTINGS_APIS}
"""They get only requests that are about settings (`front.answer_patches`)."""


MOVES_APIS: Mapping[int, Api] = {
    **{key: api for key, api in SERVER_APIS.items() if is_ours(key)},
    **APIS,
}


class KRaftNode:
    """A `MovesNode`, and what requests about settings need of a `Node`. `started_with`: this server's own settings."""

    apis = MOVES_APIS

    def __init__(
        self,
        node_id: int,
        controller: MovesService,
        status: StatusPort,
        recorder: EventRecorder,
        at: Callable[[], Address],
        settings: ServedSettings,
        started_with: ReassignmentSettings,
    ) -> None:
        self.node_id = node_id
        self.controller = controller
        self.status: StatusPort | None = status
        self._recorder = recorder
        self._at = at
        self.configs: ConfigPort = settings
        self.settings: SettingsPort | None = settings
        self.static_configs = own_settings(started_with)

    def topics_now(self) -> Mapping[str, Topic] | None:
        cluster = self.controller.cluster
        return None if cluster is None else cluster.topics

    async def unknown_settings(self, _names: Collection[str], _timeout_ms: int = LONGEST_WAIT_MS) -> Collection[str]:
        return ()

    async def events(self, first: int, max_bytes: int) -> RecordedEvents | None:
        return await recorded_events(self._recorder, first, max_bytes)

    async def servers(self, _listener: str) -> Sequence[NodeEndpoint]:
        return [NodeEndpoint(self.node_id, *self._at())]


log = logging.getLogger(__name__)

AGAIN_S = 10.0
"""Between two questions: so late a change holds here at most."""

Quotas = Mapping[QuotaEntity, Mapping[str, str]]


class ClusterQuotas:
    """Of users, clients and IPs, for requests that are answered here. `ask` raises KafkaError. What was told last holds
    until the cluster tells again.
    """

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
