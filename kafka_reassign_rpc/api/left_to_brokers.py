"""What only brokers could decide, by their policies (KIP-108, KIP-133) or their authorizer, and so is refused here; and
what brokers must say before it is known.

Policies are Java classes, which this product cannot run: a node whose configuration names one refuses what it would
have to check. Source: ZkAdminManager.validateTopicCreatePolicy (CreateTopics; not CreatePartitions) and
validateConfigPolicy (configs of topics and of brokers).

The brokers' authorizer, on a node without one: the door (`api.access`) refuses all that needs a right before a handler
runs. It is open with `broker.authorizer=ignore`, and once some broker has said that it has no authorizer. Requests
about quotas, SCRAM credentials and ACLs are refused even then, if any broker has one, and until each has said that it
has none: a client that sets a credential can then log in as any user.
"""

from collections.abc import Collection

from kafka_reassign_rpc.api.config_ports import AclPort
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    KafkaError,
    PolicyViolation,
    RequestTimedOut,
    SecurityDisabled,
)
from kafka_reassign_rpc.core.settings.broker_settings import (
    ALTER_CONFIG_POLICY,
    AUTHORIZER,
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


def check_no_authorizer(node: Node) -> None:
    """Raises ClusterAuthorizationFailed."""
    if node.acls is not None:
        return
    authorizer = node.authorizer()
    if authorizer is None:
        raise ClusterAuthorizationFailed(
            "No broker has said yet whether it has an authorizer, so no client is authorized. Try again."
        )
    if authorizer:
        raise _cannot_ask(authorizer)


def acls_of(node: Node, text: str) -> AclPort:
    """Without an authorizer it raises SecurityDisabled as a broker does (`text`), unless the brokers have one."""
    if node.acls is not None:
        return node.acls
    authorizer = node.authorizer()
    raise _cannot_ask(authorizer) if authorizer else SecurityDisabled(text)


def _cannot_ask(authorizer: str) -> KafkaError:
    return ClusterAuthorizationFailed(
        f"The brokers have {AUTHORIZER}={authorizer}, which this server does not ask. Send the request to a broker, or"
        f" start this server with the same {AUTHORIZER}."
    )
