"""This server as clients of the front see it, and what it says of itself."""

from collections.abc import Callable, Collection, Mapping, Sequence

from kafka_reassign_rpc.api.api_definition import Api
from kafka_reassign_rpc.api.config_ports import ConfigPort, SettingsPort
from kafka_reassign_rpc.api.ports import LONGEST_WAIT_MS, NodeEndpoint, RecordedEvents, StatusPort
from kafka_reassign_rpc.api.registry import SERVER_APIS
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesService
from kafka_reassign_rpc.controller.lifecycle.server_config import own_settings
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder
from kafka_reassign_rpc.controller.telemetry.recorded_events import recorded_events
from kafka_reassign_rpc.core.settings.reassignment_settings import ReassignmentSettings
from kafka_reassign_rpc.core.state.topic import Topic
from kafka_reassign_rpc.kraft import served_settings
from kafka_reassign_rpc.kraft.front.announced import is_ours
from kafka_reassign_rpc.kraft.served_settings import ServedSettings
from kafka_reassign_rpc.support.host_port import Address

MOVES_APIS: Mapping[int, Api] = {
    **{key: api for key, api in SERVER_APIS.items() if is_ours(key)},
    **served_settings.APIS,
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
