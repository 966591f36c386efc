"""Values of fields that many answers have in common."""

from uuid import UUID

from kafka_reassign_rpc.api.api_definition import AclOperation
from kafka_reassign_rpc.core.kafka_errors import KafkaError

ZERO_UUID = UUID(int=0)
"""Stands for "no topic id"."""

ALL_TOPIC_OPERATIONS = frozenset(
    {
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    }
)
"""The authorized operations of a topic where no authorizer is configured (bits of AclOperation)."""

ALL_CLUSTER_OPERATIONS = frozenset(
    {
        AclOperation.CREATE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
    }
)
"""The authorized operations of the cluster where no authorizer is configured."""


def code_of(error: KafkaError | None) -> int:
    """The error code; 0 where there is no error."""
    return 0 if error is None else error.code


def message_of(error: KafkaError | None) -> str | None:
    """The error message; None where there is no error."""
    return None if error is None else error.message
