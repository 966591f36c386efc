"""Every message class that the product uses: ours, from `schemas/` (`setup.py` says how a wheel carries them), and
kafka-python's. All are its `ApiMessage` classes: attributes in snake_case, the class of a nested structure as an
attribute (`UpdateMetadataRequest.UpdateMetadataBroker`).

A trap: an array field that was never set reads as one list that all instances share, so set it, never append to it. A
list of structures may be given as tuples with all of the version's fields in order, which is several times cheaper.
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
    """For annotations alone: `type[RequestFor[MetadataResponse]]` is the class MetadataRequest. Request classes derive
    from it in `messages.pyi`, not at run time.
    """


class Message(ApiMessage, init=False):
    """Base of our own message classes. They stay out of kafka-python's registry of answers: its key is only the API, so
    ours would replace its classes in every client of the process.
    """

    # kafka-python looks at these of every subclass, this base included: a request is not registered.
    _json: ClassVar[dict[str, Any]] = {"type": "request", "validVersions": "none", "flexibleVersions": "none"}

    def __init_subclass__(cls, **_: Any) -> None:
        super(ApiMessage, cls).__init_subclass__()  # past the one that registers
        cls._valid_versions = BaseField.parse_versions(cls._json["validVersions"])
        cls._flexible_versions = BaseField.parse_versions(cls._json["flexibleVersions"])


class AlterPartitionReassignmentsRequest(Message, load_json=SCHEMAS): ...


class AlterPartitionReassignmentsResponse(Message, load_json=SCHEMAS): ...


class ListPartitionReassignmentsRequest(Message, load_json=SCHEMAS): ...


class ListPartitionReassignmentsResponse(Message, load_json=SCHEMAS): ...


class EnvelopeRequest(Message, load_json=SCHEMAS): ...


class EnvelopeResponse(Message, load_json=SCHEMAS): ...


class ListReassignmentsRequest(Message, load_json=SCHEMAS):
    """The identities of moves (KIP-240)."""


class ListReassignmentsResponse(Message, load_json=SCHEMAS): ...


class DescribeReassignmentsRequest(Message, load_json=SCHEMAS):
    """The progress of moves (KIP-240)."""


class DescribeReassignmentsResponse(Message, load_json=SCHEMAS): ...


class AskDocumentRequest(Message, load_json=SCHEMAS):
    """A document of a server, as JSON."""


class AskDocumentResponse(Message, load_json=SCHEMAS): ...


class DoCommandRequest(Message, load_json=SCHEMAS):
    """A command to a server, as JSON."""


class DoCommandResponse(Message, load_json=SCHEMAS): ...


class ListOffsetsRequest(Message, load_json=SCHEMAS): ...


class ListOffsetsResponse(Message, load_json=SCHEMAS): ...


class OffsetCommitRequest(Message, load_json=SCHEMAS): ...


class OffsetCommitResponse(Message, load_json=SCHEMAS): ...


class CreateDelegationTokenRequest(Message, load_json=SCHEMAS): ...


class CreateDelegationTokenResponse(Message, load_json=SCHEMAS): ...


class RenewDelegationTokenRequest(Message, load_json=SCHEMAS): ...


class RenewDelegationTokenResponse(Message, load_json=SCHEMAS): ...


class ExpireDelegationTokenRequest(Message, load_json=SCHEMAS): ...


class ExpireDelegationTokenResponse(Message, load_json=SCHEMAS): ...


class DescribeDelegationTokenRequest(Message, load_json=SCHEMAS): ...


class DescribeDelegationTokenResponse(Message, load_json=SCHEMAS): ...


class ConsumerGroupHeartbeatRequest(Message, load_json=SCHEMAS): ...


class ConsumerGroupHeartbeatResponse(Message, load_json=SCHEMAS): ...


class ConsumerGroupDescribeRequest(Message, load_json=SCHEMAS): ...


class ConsumerGroupDescribeResponse(Message, load_json=SCHEMAS): ...


class LeaderAndIsrRequest(Message, load_json=SCHEMAS):
    """Controller to broker: what to lead and what to follow."""


class LeaderAndIsrResponse(Message, load_json=SCHEMAS): ...


class StopReplicaRequest(Message, load_json=SCHEMAS):
    """Controller to broker: what to stop and to delete."""


class StopReplicaResponse(Message, load_json=SCHEMAS): ...


class UpdateMetadataRequest(Message, load_json=SCHEMAS):
    """Controller to broker: what it tells clients."""


class UpdateMetadataResponse(Message, load_json=SCHEMAS): ...


class ControlledShutdownRequest(Message, load_json=SCHEMAS):
    """Broker to controller."""


class ControlledShutdownResponse(Message, load_json=SCHEMAS): ...


class AlterPartitionRequest(Message, load_json=SCHEMAS):
    """Broker to controller: a new ISR."""


class AlterPartitionResponse(Message, load_json=SCHEMAS): ...


class AllocateProducerIdsRequest(Message, load_json=SCHEMAS):
    """Broker to controller."""


class AllocateProducerIdsResponse(Message, load_json=SCHEMAS): ...


class SimulatedFetchRequest(Message, load_json=SCHEMAS):
    """A simulated follower fetches from a simulated leader."""


class SimulatedFetchResponse(Message, load_json=SCHEMAS): ...


def valid_versions(cls: type[ApiMessage]) -> tuple[int, int]:
    low, high = cls._valid_versions
    return low, high


def _by_key(ending: str) -> dict[int, type[ApiMessage]]:
    found = {name: cls for name, cls in globals().items() if name.endswith(ending)}
    return {cls.API_KEY: cls for _, cls in sorted(found.items())}


REQUESTS: dict[int, type[ApiMessage]] = _by_key("Request")
"""API key -> class of the request."""
RESPONSES: dict[int, type[ApiMessage]] = _by_key("Response")
"""API key -> class of the answer."""
