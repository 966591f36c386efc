"""The settings that all servers of a cluster share: configs of the server's own node. Some are switches: they disable
reassignments, pause repairs, keep new replicas away from brokers.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kafka_reassign_rpc.client.client_errors import Unreachable, UnsupportedHere, raise_for
from kafka_reassign_rpc.client.config_calls import APPEND, BROKER, SUBTRACT, ListChange, change_node, set_cluster_config
from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import RequestRouter, always
from kafka_reassign_rpc.client.vendor_calls import Connected, ask_document, do_command
from kafka_reassign_rpc.core.config_values import listed, parse_brokers
from kafka_reassign_rpc.core.document_and_command_bodies import Nothing, SwitchState
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.settings.healing_settings import PAUSED
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS, ENABLED
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS, MovedSettings, own_names
from kafka_reassign_rpc.protocol.messages import DescribeConfigsRequest, DescribeReassignmentsRequest

NO_SETTINGS = (
    "The controller keeps no settings of its own: that needs a kafka-reassign-rpc server of this version. This"
    " request was not sent."
)
NO_SWITCH = (
    "The controller has no switch for reassignments (KIP-236): that needs a kafka-reassign-rpc server of this"
    " version. This request was not sent."
)
NO_HEALING = (
    "The controller does not heal clusters (KIP-46): that needs a kafka-reassign-rpc server of this version. This"
    " request was not sent."
)
NO_CORDON = (
    "The controller cannot cordon brokers: that needs a kafka-reassign-rpc server of this version."
    " This request was not sent."
)
WHERE = {2: "servers", 3: "defaults", 4: "started", 5: "default"}
"""By ConfigSource: see `ServerSetting.where`."""


class ServerSetting(NamedTuple):
    """value    the one in force
    where    "servers": set for all servers; "defaults": among the brokers' default configs, where it no longer belongs;
             "started": given to this server at its start; "default": set nowhere
    old      the value among the brokers' default configs; None: there is none
    """

    name: str
    value: str
    where: str
    old: str | None


class SettingsCalls(Connected):
    """Calls of the client."""

    async def why_disabled(self) -> str | None:
        """Why reassignments are disabled (KIP-236), or None. Raises UnsupportedHere."""
        return await _why_disabled(self._connected)

    async def enable(self) -> str | None:
        """Delete the setting `partition.reassignments.enabled` of all servers.

        Returns None, or why reassignments are still disabled (the znode `/admin/reassign_cancel` exists). Raises
        UnsupportedHere.
        """
        return await self._set_enabled(None)

    async def disable(self) -> str | None:
        """Set `partition.reassignments.enabled=false` for all servers (KIP-236).

        No new move starts by any route. Moves in flight continue and can be cancelled. Returns the reason that clients
        then get. Raises UnsupportedHere.
        """
        return await self._set_enabled("false")

    async def pause_healing(self) -> None:
        """Let no new repair start (KIP-46). Repairs that are queued or in flight continue."""
        await self._set_paused("true")

    async def resume_healing(self) -> None:
        """Undo `pause_healing`."""
        await self._set_paused(None)

    async def cordoned(self) -> frozenset[int]:
        """The cordoned brokers (KIP-1066): the controller places no new replica on them. Raises UnsupportedHere."""
        return _cordoned(await self.settings())

    async def cordon(self, brokers: Iterable[int], *, uncordon: bool = False) -> frozenset[int]:
        """Cordon brokers, or with `uncordon` open them again; returns the cordoned ones. Raises UnsupportedHere."""
        router = await self._our_controller(NO_CORDON)
        change = ListChange(SUBTRACT if uncordon else APPEND, listed(brokers))
        await change_node(router, await router.controller(), {CORDONED_BROKERS: change})
        try:
            return _cordoned(await _settings(router))
        except KafkaError as error:
            done = "open" if uncordon else "cordoned"
            raise Unreachable(
                f"The brokers are {done}. All that are cordoned could not be read: {error.message}"
            ) from error

    async def can_cordon(self) -> bool:
        """Whether the controller keeps new replicas away from cordoned brokers."""
        if await self._connected.controller_serves(DescribeReassignmentsRequest) < 0:
            return False
        return any(one.name == CORDONED_BROKERS for one in await self.settings())

    async def settings(self) -> list[ServerSetting]:
        """The settings of all servers by name: values in force, and where they are set. Raises UnsupportedHere."""
        return await _settings(self._connected)

    async def change_settings(self, changes: Mapping[str, str | None]) -> None:
        """Set settings of all servers; None deletes one. Raises InvalidRequest for a refused value."""
        router = await self._our_controller(NO_SETTINGS)
        await _change(router, await router.controller(), changes)

    async def move_settings(self) -> MovedSettings:
        """Move the settings out of the brokers' default configs, where earlier versions kept them. No value changes."""
        return await do_command(self._connected, "move_settings", MovedSettings, NO_SETTINGS, Nothing())

    async def _set_enabled(self, value: str | None) -> str | None:
        """Returns why reassignments are disabled now, or None."""
        router = await self._our_controller(NO_SWITCH)
        await _switch(router, ENABLED, value)
        return await _why_disabled(router)

    async def _set_paused(self, value: str | None) -> None:
        await _switch(await self._our_controller(NO_HEALING), PAUSED, value)

    async def _our_controller(self, otherwise: str) -> RequestRouter:
        """Raises UnsupportedHere with the text `otherwise`."""
        router = self._connected
        await require(router, DescribeReassignmentsRequest, otherwise)
        return router


async def _settings(router: RequestRouter) -> list[ServerSetting]:
    await require(router, DescribeReassignmentsRequest, NO_SETTINGS)
    node = await router.controller()
    return [
        ServerSetting(
            entry.name,
            entry.value or "",
            WHERE.get(entry.config_source, "default"),
            next((synonym.value for synonym in entry.synonyms if WHERE.get(synonym.source) == "defaults"), None),
        )
        for entry in await _described(router, node, str(node), list(SERVER_SETTINGS))
    ]


def _cordoned(settings: Iterable[ServerSetting]) -> frozenset[int]:
    found = {one.name: one.value for one in settings}
    return parse_brokers(found.get(CORDONED_BROKERS, "")) or frozenset()


async def _why_disabled(router: RequestRouter) -> str | None:
    return (await ask_document(router, "switch", SwitchState, NO_SWITCH)).disabled


async def _switch(router: RequestRouter, name: str, value: str | None) -> None:
    """None deletes a setting wherever it is set, even in an earlier version's place. Raises KafkaError.

    The new place is written first: whatever happens in between, no former value comes back.
    """
    node = await router.controller()
    await _change(router, node, {name: value})
    if value is None and await _stands_in_defaults(router, name):
        await set_cluster_config(router, name, None)


async def _change(router: RequestRouter, node: int, changes: Mapping[str, str | None]) -> None:
    unknown = changes.keys() - set(own_names(changes))
    if unknown:
        raise UnsupportedHere(f"No settings of servers: {', '.join(sorted(unknown))}. Known: {_known()}.")
    await change_node(router, node, changes)


async def _stands_in_defaults(router: RequestRouter, name: str) -> bool:
    """Asks the controller: a stock broker may not know the last change yet."""
    return bool(await _described(router, await router.controller(), "", [name]))


async def _described(router: RequestRouter, node: int, of: str, names: list[str]) -> list[Any]:
    """These configs of a broker ("": of all) as this node knows them, with their synonyms. Raises KafkaError."""
    one = DescribeConfigsRequest.DescribeConfigsResource
    resource = one(resource_type=BROKER, resource_name=of, configuration_keys=names)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    answer = await router.ask_node(node, always(request), DescribeConfigsRequest)
    [found] = answer.results
    raise_for(found.error_code, found.error_message)
    return list(found.configs)


def _known() -> str:
    return ", ".join(sorted(SERVER_SETTINGS))
