"""What the caller of a request may do. The dispatcher asks what every request of an API needs on the cluster
(`Acl.only_for` is empty); a handler asks about the resources that a request names, and knows no authorizer.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple, Protocol

from kafka_reassign_rpc.core.acls.acl_binding import CLUSTER_NAME, SUPPORTED_OPERATIONS, AclOperation, ResourceType
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.support.bounded_text import word
from kafka_reassign_rpc.support.counted import first_of

NAMED = 5
"""Refused resources of a request that are named."""
LONGEST_NAME = 100


class Authorizer(Protocol):
    """See `core.acls.acl_authorizer`, whose AclAuthorizer is one."""

    @property
    def super_users(self) -> Set[str]: ...

    def authorize(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> bool: ...

    def authorized_operations(
        self, principal: str, host: str, resource_type: ResourceType, name: str
    ) -> frozenset[AclOperation]: ...

    def authorize_by_resource_type(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool: ...


class ClusterRights(NamedTuple):
    """The authorizer of one caller: a broker has said what it may do on the cluster. Of other resources nothing is
    known, so nothing is allowed.
    """

    allowed: frozenset[AclOperation]
    super_users: frozenset[str] = frozenset()

    def authorize(
        self, _principal: str, _host: str, operation: AclOperation, resource_type: ResourceType, _name: str
    ) -> bool:
        return operation in self.authorized_operations("", "", resource_type, "")

    def authorized_operations(
        self, _principal: str, _host: str, resource_type: ResourceType, _name: str
    ) -> frozenset[AclOperation]:
        return self.allowed if resource_type is ResourceType.CLUSTER else frozenset()

    def authorize_by_resource_type(
        self, _principal: str, _host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        return operation in self.authorized_operations("", "", resource_type, "")


Denied = tuple[AclOperation, ResourceType, str]


class Access:
    """authorizer  None allows everything
    why_denied  what a refusal on the cluster says in addition, or ""
    unlimited   everything is allowed, so that handlers need not ask for each of many resources
    denied      the first refusals that the caller learns of
    refusals    how many they are in all
    """

    __slots__ = ("_authorizer", "_host", "_principal", "_why_denied", "denied", "refusals", "unlimited")

    def __init__(
        self, authorizer: Authorizer | None = None, principal: str = "", host: str = "", why_denied: str = ""
    ) -> None:
        self._authorizer = authorizer
        self._why_denied = why_denied
        self._principal = principal
        self._host = host
        self.unlimited = authorizer is None or principal in authorizer.super_users
        self.denied: Sequence[Denied] = ()
        self.refusals = 0

    def may(
        self, operation: AclOperation, resource_type: ResourceType, name: str, *, log_if_denied: bool = True
    ) -> bool:
        """`log_if_denied`: a refusal is recorded, since the caller learns of it (Kafka's logIfDenied)."""
        if self._authorizer is None or self.unlimited:
            return True
        if self._authorizer.authorize(self._principal, self._host, operation, resource_type, name):
            return True
        if log_if_denied:
            self._deny(operation, resource_type, name)
        return False

    def may_on_cluster(self, operation: AclOperation, *, log_if_denied: bool = True) -> bool:
        return self.may(operation, ResourceType.CLUSTER, CLUSTER_NAME, log_if_denied=log_if_denied)

    def may_on_any(self, operation: AclOperation, resource_type: ResourceType) -> bool:
        if self._authorizer is None or self.unlimited:
            return True
        if self._authorizer.authorize_by_resource_type(self._principal, self._host, operation, resource_type):
            return True
        self._deny(operation, resource_type, "NONE")
        return False

    def check_cluster(self, operation: AclOperation, request: str = "") -> None:
        """Raises ClusterAuthorizationFailed. `request` is the name of its API, if Kafka's text names the request
        (AuthHelper.authorizeClusterOperation).
        """
        authorizer = self._authorizer
        if authorizer is None or authorizer.authorize(
            self._principal, self._host, operation, ResourceType.CLUSTER, CLUSTER_NAME
        ):
            return
        self._deny(operation, ResourceType.CLUSTER, CLUSTER_NAME)
        if self._why_denied:
            raise ClusterAuthorizationFailed(self._why_denied)
        if not request:
            raise ClusterAuthorizationFailed
        caller = f"{request} of {word(self._principal, LONGEST_NAME)} from {word(self._host, LONGEST_NAME)}"
        raise ClusterAuthorizationFailed(
            f"Request {caller} is not authorized. Needs {operation.name} permission on the cluster."
        )

    def operations(self, resource_type: ResourceType, name: str) -> frozenset[AclOperation]:
        if self._authorizer is None:
            return SUPPORTED_OPERATIONS[resource_type]
        return self._authorizer.authorized_operations(self._principal, self._host, resource_type, name)

    def cluster_operations(self) -> frozenset[AclOperation]:
        """Empty if the caller may not describe the cluster (AuthHelper, KafkaApis)."""
        if not self.may_on_cluster(AclOperation.DESCRIBE):
            return frozenset()
        return self.operations(ResourceType.CLUSTER, CLUSTER_NAME)

    def describe_denied(self) -> str:
        """`ALTER on topic a, b and 7 more`, for people."""
        return first_of([*_sentences(self.denied)], NAMED, of=self.refusals)

    def _deny(self, operation: AclOperation, resource_type: ResourceType, name: str) -> None:
        self.refusals += 1
        if len(self.denied) < NAMED:
            self.denied = *self.denied, (operation, resource_type, name)


def _sentences(denied: Iterable[Denied]) -> Iterator[str]:
    before = None
    for operation, resource_type, name in denied:
        kind = resource_type.name.lower().replace("_", " ")
        named = "" if resource_type is ResourceType.CLUSTER else f" {word(name, LONGEST_NAME)}"
        yield named.strip() if (operation, kind) == before else f"{operation.name} on {kind}{named}"
        before = operation, kind


EVERYTHING = Access()
"""Of callers of a node without an authorizer."""
