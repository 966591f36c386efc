"""What the policies of brokers (KIP-108, KIP-133) keep clients from, and what brokers must say before it is known.

Policies are Java classes, which this product cannot run: a node whose configuration names one refuses what it would
have to check. Source: ZkAdminManager.validateTopicCreatePolicy (CreateTopics; not CreatePartitions) and
validateConfigPolicy (configs of topics and of brokers).
"""

from collections.abc import Collection

from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation, RequestTimedOut
from kafka_reassign_rpc.core.settings.broker_settings import (
    ALTER_CONFIG_POLICY,
    CREATE_TOPIC_POLICY,
    POLICIES,
)


def check_create_topic(node: Node) -> None:
    """Raises PolicyViolation."""
    _check(node, CREATE_TOPIC_POLICY, "new topics")


async def check_alter_config(node: Node) -> None:
    """Raises PolicyViolation, and RequestTimedOut if the brokers refuse to say."""
    check_known(await node.unknown_settings([ALTER_CONFIG_POLICY]))
    _check(node, ALTER_CONFIG_POLICY, "changes of configs")


def check_known(unknown: Collection[str]) -> None:
    if unknown:
        ways = dict.fromkeys(
            "--broker-policies ignore" if name in POLICIES else f"--{name.replace('.', '-')}" for name in unknown
        )
        raise RequestTimedOut(
            f"Nothing is changed: it is not known what the brokers have for {', '.join(unknown)}, since most of them"
            f" have not reported it to this server. Try again, or start the server with {', '.join(ways)}."
        )


def _check(node: Node, name: str, what: str) -> None:
    policy = node.static_configs.get(name)
    if policy:
        raise PolicyViolation(
            f"The brokers check {what} with {name}={policy}, which this server cannot run, so it refuses them. Send the"
            " request to a broker that is the controller, or start the server with --broker-policies ignore."
        )
