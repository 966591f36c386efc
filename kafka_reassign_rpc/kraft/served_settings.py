"""The settings of all servers as clients of the front read and change them: they are records of the state log."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from kafka_reassign_rpc.api.api_definition import Answer, Api, RequestContext
from kafka_reassign_rpc.api.config_ports import ConfigChange
from kafka_reassign_rpc.api.registry import SERVER_APIS
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesService
from kafka_reassign_rpc.core.kafka_errors import InvalidConfig, NotController
from kafka_reassign_rpc.core.settings.server_settings import MovedSettings, divided
from kafka_reassign_rpc.core.state.config_entities import BROKERS
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.kraft.front.settings_requests import SETTINGS_APIS
from kafka_reassign_rpc.kraft.kraft_commands import ChangeSettings


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
"""They get only requests that are about settings (`front.settings_requests`)."""
