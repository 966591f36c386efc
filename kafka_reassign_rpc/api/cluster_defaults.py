"""Changes of the cluster-wide broker configs (BROKER ""): every live broker must accept them. What a change says for
itself is judged here, from Kafka's table. Only brokers know the rest (their classes, threads and own configs), so the
node asks them: see docs/decisions/0007-brokers-judge-their-defaults.md.
"""

from collections.abc import Collection, Mapping

from kafka_reassign_rpc.api.config_ports import ConfigChange, DefaultsChange
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.configs.config_definitions import (
    ConfigValueError,
    ignored_default,
    is_password,
    validate_broker_configs,
)
from kafka_reassign_rpc.core.configs.own_settings import refuse_in_defaults, refuse_mistyped
from kafka_reassign_rpc.core.kafka_errors import InvalidConfig, InvalidRequest, RequestTimedOut
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.core.state.config_entities import BROKERS, DEFAULT
from kafka_reassign_rpc.core.state.requesters import Requester

RACES = 5
"""How often brokers are asked again after others have changed the configs in between."""
MOST_CHARACTERS = 1 << 20
"""Of all names and values together: ZooKeeper's jute.maxbuffer, beyond which no znode has them."""


class _Changed(Exception):
    """The configs are not those that brokers were asked about."""


async def alter_cluster_defaults(
    node: Node, change: ConfigChange, named: Collection[str], by: Requester, *, validate_only: bool
) -> None:
    """`named`: the configs that the request names. Raises KafkaError."""
    for _ in range(RACES):
        standing = dict(await node.configs.read(BROKERS, DEFAULT))
        wanted, asked = wanted_defaults(standing, change, named)
        if node.settings is not None:
            _check_settings(wanted, standing, node.node_id)
        if not asked.steps or not SERVER_SETTINGS.keys() >= set(asked.steps):  # brokers know none of them
            await node.accept_defaults(asked)
        if validate_only:
            return
        _refuse_passwords(asked.after)
        try:
            await node.configs.alter(BROKERS, DEFAULT, _instead_of(standing, wanted), by)
        except _Changed:
            continue
        return
    raise RequestTimedOut("Nothing is changed: others change the same configs all the time. Try again.")


def wanted_defaults(
    standing: Mapping[str, str], change: ConfigChange, named: Collection[str]
) -> tuple[Mapping[str, str], DefaultsChange]:
    """What would be in ZooKeeper after the change, and what brokers would see of it. Raises KafkaError.

    Brokers leave out what they cannot use. So that is judged if the request names it, and otherwise stays as it is.
    """
    ignored = {name for name, value in standing.items() if ignored_default(name, value) is not None}
    wanted = dict(change({name: value for name, value in standing.items() if name not in ignored.intersection(named)}))
    before = {name: value for name, value in standing.items() if name not in ignored}
    after = {name: value for name, value in wanted.items() if name in named or name not in ignored}
    if sum(len(name) + len(value) for name, value in wanted.items()) > MOST_CHARACTERS:
        raise InvalidRequest(f"All cluster-wide configs together have at most {MOST_CHARACTERS} characters.")
    try:
        validate_broker_configs(after, per_broker=False)
    except ConfigValueError as error:
        raise InvalidRequest(str(error)) from None
    return wanted, DefaultsChange(before, after)


def _check_settings(wanted: Mapping[str, str], standing: Mapping[str, str], own_id: int) -> None:
    """The defaults get no setting of servers, nor what looks like one."""
    try:
        refuse_mistyped(wanted.keys() - standing.keys())
        refuse_in_defaults(wanted, standing, own_id)
    except ConfigValueError as error:
        raise InvalidRequest(str(error)) from None


def _instead_of(standing: Mapping[str, str], wanted: Mapping[str, str]) -> ConfigChange:
    def change(current: Mapping[str, str]) -> Mapping[str, str]:
        if dict(current) != standing:
            raise _Changed
        return wanted

    return change


def _refuse_passwords(configs: Mapping[str, str]) -> None:
    """Kafka finds this when it writes, and not with validateOnly (DynamicBrokerConfig.toPersistentProps)."""
    if any(map(is_password, configs)):
        raise InvalidConfig(
            "Invalid config value for resource ConfigResource(type=BROKER, name=''): Password config can be defined"
            " only at broker level"
        )
