"""Errors that an operator or a client can get: one class for each Kafka error, with its code and default text
(org.apache.kafka.common.protocol.Errors).

The message says what is wrong and, where it helps, what to do. The wire carries `code` and `str(error)` unchanged.
Other exceptions become a Kafka error where they are caught (under `kafka_reassign_rpc/`):

exception                           Kafka error                               caught in
ControllerMoved; ReloadNeeded       NOT_CONTROLLER, to all commands in the    controller/controller_loop.py
during a reload                     loop
ReloadNeeded at a commit            none: the round is decided again; after   controller/controller_loop.py
                                    some attempts REQUEST_TIMED_OUT
TopicTooLarge                       POLICY_VIOLATION, to the topic's          controller/controller_loop.py
                                    partitions
a topic whose znode cannot be       UNKNOWN_TOPIC_OR_PARTITION, with the      controller/controller_loop.py
read, or with the id of another     reason; TOPIC_ALREADY_EXISTS to a
                                    request that creates it
a defect in a decision              UNKNOWN_SERVER_ERROR, to that command     controller/controller_loop.py
ControllerMoved, ReloadNeeded,      NOT_CONTROLLER                            controller/duties/producer_ids.py
for a block of producer ids
BadZnode of producer ids            COORDINATOR_LOAD_IN_PROGRESS              controller/duties/producer_ids.py
BadZnode of a config                INVALID_CONFIG, to that resource          zookeeper/served_configs.py
NotSent, SessionOver, Unknown, at   BROKER_NOT_AVAILABLE, to that resource    zookeeper/served_configs.py
a config: there is no session
another ZkError or a defect, at a   UNKNOWN_SERVER_ERROR, to that resource    api/config_changes.py
config
any other in a handler              UNKNOWN_SERVER_ERROR                      api/dispatch.py
RemoteProtocolError                 none: the connection closes, as in        protocol/served_connection.py
                                    Kafka; UNSUPPORTED_VERSION where the
                                    version of ApiVersions is not served
"""

import re
from typing import ClassVar, Self

from kafka_reassign_rpc.support.bounded_text import shortened

LONGEST_MESSAGE = 4_000


class KafkaError(Exception):
    """`retriable`: the same call may succeed later."""

    code: ClassVar[int] = -1
    retriable: ClassVar[bool] = False
    default_message: ClassVar[str] = "The server experienced an unexpected error when processing the request."

    def __init__(self, message: str | None = None) -> None:
        super().__init__(self.default_message if message is None else _sendable(message))

    @property
    def message(self) -> str:
        return str(self)

    def as_answer(self) -> Self:
        """Drops the traceback, which holds everything around the raise, in a cycle if the error becomes part of that:
        an answer with many errors would stay in memory for a minute.
        """
        self.__traceback__ = self.__context__ = self.__cause__ = None
        return self

    @property
    def name(self) -> str:
        """Kafka's spelling, such as INVALID_REPLICA_ASSIGNMENT."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).upper()


def _sendable(message: str) -> str:
    """Fits every version of an answer: below 32,767 bytes, without lone surrogates, which UTF-8 lacks. Clients and
    znodes choose names in it.
    """
    short = shortened(message, LONGEST_MESSAGE)
    return short if short.isascii() else short.encode(errors="replace").decode()


def _error(name: str, code: int, default_message: str, *, retriable: bool = False) -> type[KafkaError]:
    return type(
        name,
        (KafkaError,),
        {
            "code": code,
            "retriable": retriable,
            "default_message": default_message,
            "__doc__": f"{default_message} (code {code})",
            "__module__": __name__,
        },
    )


UnknownServerError = _error("UnknownServerError", -1, KafkaError.default_message)
UnknownTopicOrPartition = _error(
    "UnknownTopicOrPartition", 3, "This server does not host this topic-partition.", retriable=True
)
NotLeaderOrFollower = _error(
    "NotLeaderOrFollower",
    6,
    "For requests intended only for the leader, this error indicates that the broker is not the current leader. For "
    "requests intended for any replica, this error indicates that the broker is not a replica of the topic partition.",
    retriable=True,
)
RequestTimedOut = _error("RequestTimedOut", 7, "The request timed out.", retriable=True)
StaleControllerEpoch = _error("StaleControllerEpoch", 11, "The controller moved to another broker.")
CoordinatorNotAvailable = _error("CoordinatorNotAvailable", 15, "The coordinator is not available.", retriable=True)
InvalidTopic = _error("InvalidTopic", 17, "The request attempted to perform an operation on an invalid topic.")
UnsupportedVersion = _error("UnsupportedVersion", 35, "The version of API is not supported.")
UnsupportedSaslMechanism = _error(
    "UnsupportedSaslMechanism", 33, "The broker does not support the requested SASL mechanism."
)
IllegalSaslState = _error("IllegalSaslState", 34, "Request is not valid given the current SASL state.")
TopicAlreadyExists = _error("TopicAlreadyExists", 36, "Topic with this name already exists.")
InvalidPartitions = _error("InvalidPartitions", 37, "Number of partitions is below 1.")
InvalidReplicationFactor = _error(
    "InvalidReplicationFactor", 38, "Replication factor is below 1 or larger than the number of available brokers."
)
InvalidReplicaAssignment = _error("InvalidReplicaAssignment", 39, "Replica assignment is invalid.")
InvalidConfig = _error("InvalidConfig", 40, "Configuration is invalid.")
NotController = _error("NotController", 41, "This is not the correct controller for this cluster.", retriable=True)
InvalidRequest = _error(
    "InvalidRequest",
    42,
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an"
    " incompatible broker. See the broker logs for more details.",
)
PolicyViolation = _error("PolicyViolation", 44, "Request parameters do not satisfy the configured policy.")
PrincipalDeserializationFailure = _error(
    "PrincipalDeserializationFailure",
    97,
    "Request principal deserialization failed during forwarding. This indicates an internal error on the broker cluster"
    " security setup.",
)
MismatchedEndpointType = _error("MismatchedEndpointType", 114, "The request was sent to an endpoint of the wrong type.")
KafkaStorageError = _error(
    "KafkaStorageError", 56, "Disk error when trying to access log file on the disk.", retriable=True
)
LogDirNotFound = _error("LogDirNotFound", 57, "The user-specified log directory is not found in the broker config.")
ReassignmentInProgress = _error("ReassignmentInProgress", 60, "A partition reassignment is in progress.")
ReplicaNotAvailable = _error(
    "ReplicaNotAvailable",
    9,
    "The replica is not available for the requested topic-partition. Produce/Consume requests and other requests "
    "intended only for the leader or follower return NOT_LEADER_OR_FOLLOWER if the broker is not a replica of the "
    "topic-partition.",
    retriable=True,
)
TopicDeletionDisabled = _error("TopicDeletionDisabled", 73, "Topic deletion is disabled.")
FencedLeaderEpoch = _error(
    "FencedLeaderEpoch",
    74,
    "The leader epoch in the request is older than the epoch on the broker.",
    retriable=True,
)
StaleBrokerEpoch = _error("StaleBrokerEpoch", 77, "Broker epoch has changed.")
PreferredLeaderNotAvailable = _error(
    "PreferredLeaderNotAvailable", 80, "The preferred leader was not available.", retriable=True
)
EligibleLeadersNotAvailable = _error(
    "EligibleLeadersNotAvailable",
    83,
    "Eligible topic partition leaders are not available.",
    retriable=True,
)
ElectionNotNeeded = _error("ElectionNotNeeded", 84, "Leader election not needed for topic partition.", retriable=True)
NoReassignmentInProgress = _error("NoReassignmentInProgress", 85, "No partition reassignment is in progress.")
InvalidUpdateVersion = _error(
    "InvalidUpdateVersion",
    95,
    "The given update version was invalid.",
)
UnknownTopicId = _error("UnknownTopicId", 100, "This server does not host this topic ID.", retriable=True)
BrokerIdNotRegistered = _error("BrokerIdNotRegistered", 102, "The given broker ID was not registered.")
InconsistentTopicId = _error(
    "InconsistentTopicId", 103, "The log's topic ID did not match the topic ID in the request.", retriable=True
)
IneligibleReplica = _error("IneligibleReplica", 107, "The new ISR contains at least one ineligible replica.")
ClusterAuthorizationFailed = _error("ClusterAuthorizationFailed", 31, "Cluster authorization failed.")
TopicAuthorizationFailed = _error("TopicAuthorizationFailed", 29, "Topic authorization failed.")
GroupAuthorizationFailed = _error("GroupAuthorizationFailed", 30, "Group authorization failed.")
TransactionalIdAuthorizationFailed = _error(
    "TransactionalIdAuthorizationFailed", 53, "Transactional Id authorization failed."
)
LeaderNotAvailable = _error(
    "LeaderNotAvailable",
    5,
    "There is no leader for this topic-partition as we are in the middle of a leadership election.",
    retriable=True,
)
BrokerNotAvailable = _error("BrokerNotAvailable", 8, "The broker is not available.")
CoordinatorLoadInProgress = _error(
    "CoordinatorLoadInProgress",
    14,
    "The coordinator is loading and hence can't process requests.",
    retriable=True,
)
NotCoordinator = _error("NotCoordinator", 16, "This is not the correct coordinator.", retriable=True)
InvalidRequiredAcks = _error("InvalidRequiredAcks", 21, "Produce request specified an invalid value for required acks.")
InconsistentGroupProtocol = _error(
    "InconsistentGroupProtocol",
    23,
    "The group member's supported protocols are incompatible with those of existing members or first group member tried"
    " to join with empty protocol type or empty protocol list.",
)
InvalidGroupId = _error("InvalidGroupId", 24, "The configured groupId is invalid.")
InvalidTransactionTimeout = _error(
    "InvalidTransactionTimeout",
    50,
    "The transaction timeout is larger than the maximum value allowed by the broker (as configured by"
    " transaction.max.timeout.ms).",
)
FetchSessionIdNotFound = _error("FetchSessionIdNotFound", 70, "The fetch session ID was not found.", retriable=True)
DelegationTokenAuthDisabled = _error("DelegationTokenAuthDisabled", 61, "Delegation Token feature is not enabled.")
DelegationTokenRequestNotAllowed = _error(
    "DelegationTokenRequestNotAllowed",
    64,
    "Delegation Token requests are not allowed on PLAINTEXT/1-way SSL channels and on delegation token authenticated"
    " channels.",
)
SecurityDisabled = _error("SecurityDisabled", 54, "Security features are disabled.")
ThrottlingQuotaExceeded = _error(
    "ThrottlingQuotaExceeded", 89, "The throttling quota has been exceeded.", retriable=True
)
ResourceNotFound = _error("ResourceNotFound", 91, "A request illegally referred to a resource that does not exist.")
OperationNotAttempted = _error(
    "OperationNotAttempted",
    55,
    "The broker did not attempt to execute this operation. This may happen for batched RPCs where some operations in"
    " the batch failed, causing the broker to respond without trying the rest.",
)
DuplicateResource = _error("DuplicateResource", 92, "A request illegally referred to the same resource twice.")
UnacceptableCredential = _error(
    "UnacceptableCredential", 93, "Requested credential would not meet criteria for acceptability."
)

_BY_CODE = {one.code: one for one in KafkaError.__subclasses__()}


def of_code(code: int, message: str | None) -> KafkaError:
    known = _BY_CODE.get(code) or _error("OtherError", code, f"Kafka's error {code}.")
    return known(message)
