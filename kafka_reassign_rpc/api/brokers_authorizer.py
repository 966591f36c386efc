"""Requests that only the brokers' authorizer could decide, on a node without one: quotas, SCRAM credentials and ACLs.

`door.py` refuses all that needs a right before a handler runs. It is open with `broker.authorizer=ignore`, and once
some broker has said that it has no authorizer. These requests are refused even then, if any broker has one, and until
each has said that it has none: a client that sets a credential can then log in as any user.
"""

from kafka_reassign_rpc.api.config_ports import AclPort
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed, KafkaError, SecurityDisabled
from kafka_reassign_rpc.core.settings.broker_settings import AUTHORIZER


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
