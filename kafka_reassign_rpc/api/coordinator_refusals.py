"""Requests to the coordinator of a group or of a transaction, on a node that coordinates none. The order of errors is
that of KafkaApis, GroupCoordinator and TransactionCoordinator: what the caller may not do, ids that nobody has, then
NOT_COORDINATOR, which sends clients to FindCoordinator.
"""

from typing import NoReturn

from kafka_reassign_rpc.api.access import Access
from kafka_reassign_rpc.api.api_definition import AclOperation, AclResource
from kafka_reassign_rpc.core.kafka_errors import (
    GroupAuthorizationFailed,
    InvalidGroupId,
    InvalidRequest,
    KafkaError,
    NotCoordinator,
    TransactionalIdAuthorizationFailed,
)


def check_group(access: Access, operation: AclOperation, group: str) -> None:
    if not access.may(operation, AclResource.GROUP, group):
        raise GroupAuthorizationFailed


def group_code(access: Access, operation: AclOperation, group: str) -> int:
    may = access.may(operation, AclResource.GROUP, group)
    return NotCoordinator.code if may else GroupAuthorizationFailed.code


def check_transaction(access: Access, operation: AclOperation, transactional_id: str) -> None:
    if not access.may(operation, AclResource.TRANSACTIONAL_ID, transactional_id):
        raise TransactionalIdAuthorizationFailed


def group_error(group: str) -> KafkaError:
    """GroupCoordinator.validateGroupStatus, for a group that needs a name."""
    return NotCoordinator() if group else InvalidGroupId()


def transaction_error(transactional_id: str) -> KafkaError:
    return NotCoordinator() if transactional_id else InvalidRequest()


def refuse_member(access: Access, group: str) -> NoReturn:
    check_group(access, AclOperation.READ, group)
    raise group_error(group)
