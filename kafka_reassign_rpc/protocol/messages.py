"""Every message class that the product uses, in one place. The classes defined here come from the schemas in
`kafka_reassign_rpc.schemas`; all others are kafka-python's own. All are kafka-python `ApiMessage` classes: attributes
in snake_case, the class of a nested structure as an attribute (`UpdateMetadataRequest.UpdateMetadataBroker`).

Two traps. An array field that was never set reads as one list that all instances share: set it, never append to it. And
a list of structures may be given as a list of tuples with all of the version's fields in order, which is several times
cheaper to build.
"""

from typing import Any, ClassVar, Generic, TypeVar

from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterConfigsRequest,
    AlterConfigsResponse,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    CreateAclsRequest,
    CreateAclsResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import (
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kafka.protocol.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kafka.protocol.schemas import BaseField

SCHEMAS = "kafka_reassign_rpc.schemas"


Response_co = TypeVar("Response_co", bound="ApiMessage", covariant=True)


class RequestFor(Generic[Response_co]):
    """For annotations alone: `type[RequestFor[MetadataResponse]]` is the class MetadataRequest. Type checkers read in
    `messages.pyi` that request classes derive from it; at run time they do not.
    """


class Message(ApiMessage, init=False):
    """Base of our own message classes. They are not entered in kafka-python's registry of answers: its key is only the
    API, so ours would replace kafka-python's classes in every client of the process.
    """

    # kafka-python looks at these of every subclass, this base included: a request is not registered.
    _json: ClassVar[dict[str, Any]] = {"type": "request", "validVersions": "none", "flexibleVersions": "none"}

    def __init_subclass__(cls, **_: Any) -> None:
        super(ApiMessage, cls).__init_subclass__()  # past the one that registers
        cls._valid_versions = BaseField.parse_versions(cls._json["validVersions"])
        cls._flexible_versions = BaseField.parse_versions(cls._json["flexibleVersions"])


class AlterPartitionReassignmentsRequest(Message, load_json=SCHEMAS):
    """API 45: start, replace or cancel moves."""


class AlterPartitionReassignmentsResponse(Message, load_json=SCHEMAS): ...


class ListPartitionReassignmentsRequest(Message, load_json=SCHEMAS):
    """API 46: which partitions move."""


class ListPartitionReassignmentsResponse(Message, load_json=SCHEMAS): ...


class EnvelopeRequest(Message, load_json=SCHEMAS):
    """API 58: a broker forwards a request of a client."""


class EnvelopeResponse(Message, load_json=SCHEMAS): ...


class ListReassignmentsRequest(Message, load_json=SCHEMAS):
    """API 32240: the identities of moves (KIP-240)."""


class ListReassignmentsResponse(Message, load_json=SCHEMAS): ...


class DescribeReassignmentsRequest(Message, load_json=SCHEMAS):
    """API 32241: the progress of moves (KIP-240)."""


class DescribeReassignmentsResponse(Message, load_json=SCHEMAS): ...


class DescribeReassignmentEventsRequest(Message, load_json=SCHEMAS):
    """API 32242: the events that a server has recorded."""


class DescribeReassignmentEventsResponse(Message, load_json=SCHEMAS): ...


class DescribeSelfHealingRequest(Message, load_json=SCHEMAS):
    """API 32243: failed brokers and the state of self-healing (KIP-46)."""


class DescribeSelfHealingResponse(Message, load_json=SCHEMAS): ...


class AlterReassignmentThrottlesRequest(Message, load_json=SCHEMAS):
    """API 32247: another throttle lease for moves in flight and moves that wait."""


class AlterReassignmentThrottlesResponse(Message, load_json=SCHEMAS): ...


class HealBrokerRequest(Message, load_json=SCHEMAS):
    """API 32244: repair what a failed broker held, now (KIP-46)."""


class HealBrokerResponse(Message, load_json=SCHEMAS): ...


class ListOffsetsRequest(Message, load_json=SCHEMAS):
    """API 2: offsets of partitions, by time."""


class ListOffsetsResponse(Message, load_json=SCHEMAS): ...


class OffsetCommitRequest(Message, load_json=SCHEMAS):
    """API 8: store offsets of a group."""


class OffsetCommitResponse(Message, load_json=SCHEMAS): ...


class CreateDelegationTokenRequest(Message, load_json=SCHEMAS):
    """API 38: make a delegation token (KIP-48)."""


class CreateDelegationTokenResponse(Message, load_json=SCHEMAS): ...


class RenewDelegationTokenRequest(Message, load_json=SCHEMAS):
    """API 39: let a delegation token live longer."""


class RenewDelegationTokenResponse(Message, load_json=SCHEMAS): ...


class ExpireDelegationTokenRequest(Message, load_json=SCHEMAS):
    """API 40: end a delegation token earlier."""


class ExpireDelegationTokenResponse(Message, load_json=SCHEMAS): ...


class DescribeDelegationTokenRequest(Message, load_json=SCHEMAS):
    """API 41: which delegation tokens there are."""


class DescribeDelegationTokenResponse(Message, load_json=SCHEMAS): ...


class ConsumerGroupHeartbeatRequest(Message, load_json=SCHEMAS):
    """API 68: a member of a group of KIP-848 is alive."""


class ConsumerGroupHeartbeatResponse(Message, load_json=SCHEMAS): ...


class ConsumerGroupDescribeRequest(Message, load_json=SCHEMAS):
    """API 69: groups of KIP-848."""


class ConsumerGroupDescribeResponse(Message, load_json=SCHEMAS): ...


class ApproveRepairsRequest(Message, load_json=SCHEMAS):
    """API 32249: approve repairs that wait for it."""


class ApproveRepairsResponse(Message, load_json=SCHEMAS): ...


class HoldMovesRequest(Message, load_json=SCHEMAS):
    """API 32248: hold moves of the queue, or release them."""


class HoldMovesResponse(Message, load_json=SCHEMAS): ...


class DescribeStatusRequest(Message, load_json=SCHEMAS):
    """API 32246: a document of the status page."""


class DescribeStatusResponse(Message, load_json=SCHEMAS): ...


class MoveServerSettingsRequest(Message, load_json=SCHEMAS):
    """API 32245: move the settings of servers out of the brokers' default configs."""


class MoveServerSettingsResponse(Message, load_json=SCHEMAS): ...


class LeaderAndIsrRequest(Message, load_json=SCHEMAS):
    """API 4: controller to broker: which partitions to lead and which to follow."""


class LeaderAndIsrResponse(Message, load_json=SCHEMAS): ...


class StopReplicaRequest(Message, load_json=SCHEMAS):
    """API 5: controller to broker: which replicas to stop and to delete."""


class StopReplicaResponse(Message, load_json=SCHEMAS): ...


class UpdateMetadataRequest(Message, load_json=SCHEMAS):
    """API 6: controller to broker: the metadata that the broker gives to clients."""


class UpdateMetadataResponse(Message, load_json=SCHEMAS): ...


class ControlledShutdownRequest(Message, load_json=SCHEMAS):
    """API 7: broker to controller: the broker is about to stop."""


class ControlledShutdownResponse(Message, load_json=SCHEMAS): ...


class AlterPartitionRequest(Message, load_json=SCHEMAS):
    """API 56: broker to controller: a new ISR."""


class AlterPartitionResponse(Message, load_json=SCHEMAS): ...


class AllocateProducerIdsRequest(Message, load_json=SCHEMAS):
    """API 67: broker to controller: a block of producer ids."""


class AllocateProducerIdsResponse(Message, load_json=SCHEMAS): ...


class SimulatedFetchRequest(Message, load_json=SCHEMAS):
    """API 32250: a simulated follower fetches from a simulated leader."""


class SimulatedFetchResponse(Message, load_json=SCHEMAS): ...


def valid_versions(cls: type[ApiMessage]) -> tuple[int, int]:
    """The lowest and the highest version in the schema."""
    low, high = cls._valid_versions
    return low, high


def _by_key(ending: str) -> dict[int, type[ApiMessage]]:
    found = {name: cls for name, cls in globals().items() if name.endswith(ending)}
    return {cls.API_KEY: cls for _, cls in sorted(found.items())}


REQUESTS: dict[int, type[ApiMessage]] = _by_key("Request")
"""API key -> class of the request."""
RESPONSES: dict[int, type[ApiMessage]] = _by_key("Response")
"""API key -> class of the answer."""
