"""Requests that a node must not carry out where the brokers have an authorizer, which only they can ask.

The server has no authorizer: it does for its callers what a broker without one does for anybody, and no more.
"""

from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.broker_settings import AUTHORIZER
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed, KafkaError, SecurityDisabled


def check_no_authorizer(node: Node) -> None:
    """Raises ClusterAuthorizationFailed where the brokers have an authorizer, and while that is not known."""
    authorizer = node.authorizer()
    if authorizer is None:
        raise ClusterAuthorizationFailed(
            "No broker has said yet whether it has an authorizer, so nobody is authorized. Try again."
        )
    if authorizer:
        raise _cannot_ask(authorizer)


def no_acls(node: Node, text: str) -> KafkaError:
    """The error of every request about ACLs: as of a broker without an authorizer (`text`), unless the brokers have
    one."""
    authorizer = node.authorizer()
    return _cannot_ask(authorizer) if authorizer else SecurityDisabled(text)


def _cannot_ask(authorizer: str) -> KafkaError:
    return ClusterAuthorizationFailed(
        f"The brokers have {AUTHORIZER}={authorizer}, which this server cannot ask. Send the request to a broker."
    )
