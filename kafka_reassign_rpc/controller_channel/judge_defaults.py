"""What a broker says to cluster-wide configs, by IncrementalAlterConfigs with validateOnly. It judges all of them
together, as after the change, with its start-up settings, own configs, threads and class path. What it accepts and yet
cannot live with shows in its answers to DescribeConfigs (`core.restarts.ending_values.later_trouble`).
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.api.config_ports import DefaultsChange
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed, InvalidRequest, KafkaError, of_code
from kafka_reassign_rpc.core.restarts.ending_values import COUNT_LATER, later_trouble
from kafka_reassign_rpc.protocol.messages import IncrementalAlterConfigsRequest
from kafka_reassign_rpc.transport.broker_answers import ConfigEntry, broker_configs
from kafka_reassign_rpc.transport.rpc_client import RpcClient

_BROKER, _SET, _DELETE = 4, 0, 1
_OWN, _STATIC, _BUILT_IN = 2, 4, 5
"""Kafka's DescribeConfigsResponse.ConfigSource: a broker's dynamic configs, its static ones, the defaults."""
MOST_TRIED = 30
"""How many configs are tried one by one at most, to find the one that a broker cannot apply."""


class NoAnswer(ConnectionError): ...


class Refusal(NamedTuple):
    """standing   the broker also refuses the configs that are set already
    culprits   configs without which it takes the rest, as far as they are known
    """

    error: KafkaError
    standing: bool = False
    culprits: Collection[str] = ()


async def judge(client: RpcClient, broker: int, change: DefaultsChange) -> Refusal | None:
    """None if the broker accepts the change and would start with it. Raises ConfigsRefused, NoAnswer, and what
    `RpcClient.call` raises.
    """
    error = await _validated(client, change.steps)
    if error is None:
        return await _later(client, broker, change) if change.steps.keys() & COUNT_LATER.keys() else None
    if isinstance(error, ClusterAuthorizationFailed):
        return Refusal(
            ClusterAuthorizationFailed(
                f"Broker {broker} does not say to this server whether it accepts the change: give the principal of this"
                " server's login ALTER_CONFIGS on the cluster there (kafka-acls.sh --cluster --operation AlterConfigs),"
                " or name it in super.users. Your own rights suffice."
            )
        )
    if not change.steps or await _validated(client, {}) is None:
        return Refusal(error)
    return Refusal(error, standing=True, culprits=await _culprits(client, change.before))


async def judge_standing(client: RpcClient, broker: int, standing: Mapping[str, str]) -> Refusal | None:
    error = await _validated(client, {})
    if error is None:
        return await _later(client, broker, DefaultsChange({}, standing), tried=standing)  # its own configs count too
    if isinstance(error, ClusterAuthorizationFailed):
        raise NoAnswer("it gives this principal no ALTER_CONFIGS on the cluster")
    return Refusal(error, standing=True, culprits=await _culprits(client, standing))


async def _culprits(client: RpcClient, standing: Mapping[str, str]) -> list[str]:
    return [name for name in sorted(standing)[:MOST_TRIED] if await _validated(client, {name: None}) is None]


async def _validated(client: RpcClient, steps: Mapping[str, str | None]) -> KafkaError | None:
    version = await client.version(IncrementalAlterConfigsRequest)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [
        resource.AlterableConfig(
            version=version, name=name, config_operation=_DELETE if value is None else _SET, value=value
        )
        for name, value in steps.items()
    ]
    asked = resource(version=version, resource_type=_BROKER, resource_name="", configs=configs)
    request = IncrementalAlterConfigsRequest(version=version, resources=[asked], validate_only=True)
    results = (await client.call(IncrementalAlterConfigsRequest, request, version)).responses
    if len(results) != 1:
        raise NoAnswer(f"{len(results)} results for one resource")
    code = results[0].error_code
    return None if code == 0 else of_code(code, results[0].error_message)


async def _later(
    client: RpcClient, broker: int, change: DefaultsChange, tried: Mapping[str, str] | None = None
) -> Refusal | None:
    entries = await broker_configs(client, broker, COUNT_LATER)
    current = {entry.name: entry.value for entry in entries if entry.value is not None} | dict(tried or {})
    unlisted = {name: value for name, value in change.after.items() if name in COUNT_LATER}
    new = unlisted | {entry.name: value for entry in entries if (value := _value(entry, change.after)) is not None}
    trouble = later_trouble(current, new)
    if trouble is None:
        return None
    culprits = [name for name in trouble.names if name in change.after]
    return Refusal(InvalidRequest(f"Broker {broker} would accept this, but {trouble}."), culprits=culprits)


def _value(entry: ConfigEntry, defaults: Mapping[str, str]) -> str | None:
    found = {synonym.source: synonym.value for synonym in entry.synonyms or () if synonym.name == entry.name}
    if _OWN in found:
        return found[_OWN]
    return defaults.get(entry.name, found.get(_STATIC, found.get(_BUILT_IN)))
