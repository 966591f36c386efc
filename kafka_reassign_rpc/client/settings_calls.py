"""The settings that all servers of a cluster share: configs of the server's own node."""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.client.client_errors import UnsupportedHere, raise_for
from kafka_reassign_rpc.client.config_calls import BROKER, config_request, set_cluster_config
from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import RequestRouter, always
from kafka_reassign_rpc.client.vendor_calls import do_command
from kafka_reassign_rpc.core.document_and_command_bodies import Nothing
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS, MovedSettings, own_names
from kafka_reassign_rpc.protocol.messages import (
    DescribeConfigsRequest,
    DescribeReassignmentsRequest,
    IncrementalAlterConfigsRequest,
)

NO_SETTINGS = (
    "The controller keeps no settings of its own: that needs a kafka-reassign-rpc server of this version. This"
    " request was not sent."
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


async def settings(router: RequestRouter) -> list[ServerSetting]:
    """In the order of names."""
    await require(router, DescribeReassignmentsRequest, NO_SETTINGS)
    node = await router.controller()
    one = DescribeConfigsRequest.DescribeConfigsResource
    request = DescribeConfigsRequest(
        resources=[one(resource_type=BROKER, resource_name=str(node), configuration_keys=list(SERVER_SETTINGS))],
        include_synonyms=True,
    )
    answer = await router.ask_node(node, always(request), DescribeConfigsRequest)
    [found] = answer.results
    raise_for(found.error_code, found.error_message)
    return [
        ServerSetting(
            entry.name,
            entry.value or "",
            WHERE.get(entry.config_source, "default"),
            next((synonym.value for synonym in entry.synonyms if WHERE.get(synonym.source) == "defaults"), None),
        )
        for entry in found.configs
    ]


async def change_settings(router: RequestRouter, changes: Mapping[str, str | None]) -> None:
    """None deletes a setting. Raises KafkaError, UnsupportedHere."""
    await require(router, DescribeReassignmentsRequest, NO_SETTINGS)
    await _change(router, await router.controller(), changes)


async def switch(router: RequestRouter, name: str, value: str | None) -> None:
    """None deletes a setting wherever it is set, even in an earlier version's place. Raises KafkaError.

    The new place is written first: whatever happens in between, no former value comes back.
    """
    node = await router.controller()
    await _change(router, node, {name: value})
    if value is None and await _stands_in_defaults(router, name):
        await set_cluster_config(router, name, None)


async def move_settings(router: RequestRouter) -> MovedSettings:
    """Raises KafkaError, UnsupportedHere."""
    return await do_command(router, "move_settings", MovedSettings, NO_SETTINGS, Nothing())


async def _change(router: RequestRouter, node: int, changes: Mapping[str, str | None]) -> None:
    unknown = changes.keys() - set(own_names(changes))
    if unknown:
        raise UnsupportedHere(f"No settings of servers: {', '.join(sorted(unknown))}. Known: {_known()}.")
    request = always(config_request({(BROKER, str(node)): changes}))
    answer = await router.ask_node(node, request, IncrementalAlterConfigsRequest, changes=True)
    [result] = answer.responses
    raise_for(result.error_code, result.error_message)


async def _stands_in_defaults(router: RequestRouter, name: str) -> bool:
    """Asks the controller: a stock broker may not know the last change yet."""
    node = await router.controller()
    one = DescribeConfigsRequest.DescribeConfigsResource
    request = DescribeConfigsRequest(
        resources=[one(resource_type=BROKER, resource_name="", configuration_keys=[name])], include_synonyms=False
    )
    answer = await router.ask_node(node, always(request), DescribeConfigsRequest)
    [found] = answer.results
    raise_for(found.error_code, found.error_message)
    return bool(found.configs)


def _known() -> str:
    return ", ".join(sorted(SERVER_SETTINGS))
