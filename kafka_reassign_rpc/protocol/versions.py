"""API keys, which versions of each the codec reads and writes, and which a server announces (ApiVersions). Sources: the
keys of Kafka 4.1; the versions of a Kafka 3.9 broker, and those that 4.1 added to the APIs of its tools.

A client may use the versions of one node at any other: kafka-python asks only its bootstrap node, and a stock broker
closes the connection on a version that it does not know. So a server announces no more than the brokers do.
"""

from collections.abc import Container, Iterable, Mapping
from enum import IntEnum
from types import MappingProxyType

from kafka_reassign_rpc.protocol.messages import REQUESTS, ApiMessage, Message, valid_versions

FIRST_VENDOR_KEY = 32240
"""From this key on API keys are this product's own: Kafka has not allocated them."""


def common_version(cls: type[ApiMessage], served: Mapping[int, tuple[int, int]], highest: int | None = None) -> int:
    """The highest version that the codec and a node know, -1 for none. `served` has the node's lowest and highest
    version by API key; the caller can use those up to `highest`, None for all.
    """
    low, high = served.get(cls.API_KEY, (0, -1))
    oldest, newest = valid_versions(cls)
    best = min(high, newest if highest is None else highest)
    return best if best >= max(low, oldest) else -1


class ApiKey(IntEnum):
    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92


_OF_KAFKA_PYTHON: Mapping[int, tuple[int, int]] = MappingProxyType(
    {
        ApiKey.PRODUCE: (0, 11),
        ApiKey.FETCH: (0, 17),
        ApiKey.METADATA: (0, 13),
        ApiKey.OFFSET_FETCH: (0, 9),
        ApiKey.FIND_COORDINATOR: (0, 6),
        ApiKey.JOIN_GROUP: (0, 9),
        ApiKey.HEARTBEAT: (0, 4),
        ApiKey.LEAVE_GROUP: (0, 5),
        ApiKey.SYNC_GROUP: (0, 5),
        ApiKey.DESCRIBE_GROUPS: (0, 5),
        ApiKey.LIST_GROUPS: (0, 5),
        ApiKey.SASL_HANDSHAKE: (0, 1),
        ApiKey.API_VERSIONS: (0, 4),
        ApiKey.CREATE_TOPICS: (0, 7),
        ApiKey.DELETE_TOPICS: (0, 6),
        ApiKey.DELETE_RECORDS: (0, 2),
        ApiKey.INIT_PRODUCER_ID: (0, 5),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: (0, 4),
        ApiKey.ADD_PARTITIONS_TO_TXN: (0, 5),
        ApiKey.ADD_OFFSETS_TO_TXN: (0, 4),
        ApiKey.END_TXN: (0, 4),
        ApiKey.WRITE_TXN_MARKERS: (0, 1),
        ApiKey.TXN_OFFSET_COMMIT: (0, 4),
        ApiKey.DESCRIBE_ACLS: (0, 3),
        ApiKey.CREATE_ACLS: (0, 3),
        ApiKey.DELETE_ACLS: (0, 3),
        ApiKey.DESCRIBE_CONFIGS: (0, 4),
        ApiKey.ALTER_CONFIGS: (0, 2),
        ApiKey.ALTER_REPLICA_LOG_DIRS: (0, 2),
        ApiKey.DESCRIBE_LOG_DIRS: (0, 4),
        ApiKey.SASL_AUTHENTICATE: (0, 2),
        ApiKey.CREATE_PARTITIONS: (0, 3),
        ApiKey.DELETE_GROUPS: (0, 2),
        ApiKey.ELECT_LEADERS: (0, 2),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: (0, 1),
        ApiKey.OFFSET_DELETE: (0, 0),
        ApiKey.DESCRIBE_CLIENT_QUOTAS: (0, 1),
        ApiKey.ALTER_CLIENT_QUOTAS: (0, 1),
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (0, 0),
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (0, 0),
        ApiKey.DESCRIBE_QUORUM: (0, 2),
        ApiKey.UPDATE_FEATURES: (0, 1),
        ApiKey.DESCRIBE_CLUSTER: (0, 2),
        ApiKey.DESCRIBE_PRODUCERS: (0, 0),
        ApiKey.DESCRIBE_TRANSACTIONS: (0, 0),
        ApiKey.LIST_TRANSACTIONS: (0, 1),
        ApiKey.LIST_CONFIG_RESOURCES: (0, 1),
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: (0, 0),
    }
)
"""The tested versions of kafka-python's schemas, which have more."""

SUPPORTED: Mapping[int, tuple[int, int]] = MappingProxyType(
    dict(
        sorted(
            {
                **_OF_KAFKA_PYTHON,
                **{key: valid_versions(cls) for key, cls in REQUESTS.items() if issubclass(cls, Message)},
            }.items()
        )
    )
)
"""The lowest and highest version of each API that the codec reads and writes; `validVersions` if the schema is ours.

Each node serves and advertises a part of this table.
"""

_OF_KRAFT_MODE = frozenset({ApiKey.DESCRIBE_QUORUM, ApiKey.LIST_CONFIG_RESOURCES, ApiKey.DESCRIBE_TOPIC_PARTITIONS})

OF_NEWEST_BROKER: Mapping[int, tuple[int, int]] = MappingProxyType(
    {
        **{key: found for key, found in SUPPORTED.items() if key < FIRST_VENDOR_KEY and key not in _OF_KRAFT_MODE},
        ApiKey.METADATA: (0, 12),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: (0, 0),
        ApiKey.DESCRIBE_CLUSTER: (0, 1),
    }
)
"""What the codec shares with a broker of Kafka 3.9, the last release with ZooKeeper mode (its request schemas with the
listener `zkBroker`).
"""

_NOT_IN_2_8 = frozenset(
    {
        *_OF_KRAFT_MODE,
        ApiKey.ENVELOPE,
        ApiKey.DESCRIBE_TRANSACTIONS,
        ApiKey.LIST_TRANSACTIONS,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.CONSUMER_GROUP_DESCRIBE,
    }
)

OF_OLDEST_BROKER: Mapping[int, tuple[int, int]] = MappingProxyType(
    {
        **{key: found for key, found in SUPPORTED.items() if key < FIRST_VENDOR_KEY and key not in _NOT_IN_2_8},
        ApiKey.PRODUCE: (0, 9),
        ApiKey.FETCH: (0, 12),
        ApiKey.LIST_OFFSETS: (0, 6),
        ApiKey.METADATA: (0, 11),
        ApiKey.LEADER_AND_ISR: (5, 5),
        ApiKey.STOP_REPLICA: (3, 3),
        ApiKey.UPDATE_METADATA: (7, 7),
        ApiKey.OFFSET_COMMIT: (0, 8),
        ApiKey.OFFSET_FETCH: (0, 7),
        ApiKey.FIND_COORDINATOR: (0, 3),
        ApiKey.JOIN_GROUP: (0, 7),
        ApiKey.LEAVE_GROUP: (0, 4),
        ApiKey.LIST_GROUPS: (0, 4),
        ApiKey.API_VERSIONS: (0, 3),
        ApiKey.INIT_PRODUCER_ID: (0, 4),
        ApiKey.ADD_PARTITIONS_TO_TXN: (0, 3),
        ApiKey.ADD_OFFSETS_TO_TXN: (0, 3),
        ApiKey.END_TXN: (0, 3),
        ApiKey.TXN_OFFSET_COMMIT: (0, 3),
        ApiKey.DESCRIBE_ACLS: (0, 2),
        ApiKey.CREATE_ACLS: (0, 2),
        ApiKey.DELETE_ACLS: (0, 2),
        ApiKey.DESCRIBE_LOG_DIRS: (0, 2),
        ApiKey.CREATE_DELEGATION_TOKEN: (0, 2),
        ApiKey.DESCRIBE_DELEGATION_TOKEN: (0, 2),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: (0, 0),
        ApiKey.ALTER_PARTITION: (0, 0),
        ApiKey.UPDATE_FEATURES: (0, 0),
        ApiKey.DESCRIBE_CLUSTER: (0, 0),
    }
)
"""What the codec shares with a broker of Kafka 2.8 in ZooKeeper mode, the oldest supported: every later broker with
that mode knows these versions too. Source: the request schemas of 2.8.2 with the listener `zkBroker`.
"""


Versions = Mapping[int, tuple[int, int]]
"""API key -> lowest and highest version."""


def announced_versions(own: Versions, brokers: Iterable[Versions], sent_to_us: Container[int]) -> Versions:
    """The versions of `own` that each broker knows too, without APIs that have none in common.

    sent_to_us   APIs that clients send only to servers of this product: they stay as they are
    """
    found = dict(own)
    for broker in brokers:
        for key, (low, high) in list(found.items()):
            if key in sent_to_us:
                continue
            of_broker = broker.get(key)
            if of_broker is None or max(low, of_broker[0]) > min(high, of_broker[1]):
                del found[key]
            else:
                found[key] = max(low, of_broker[0]), min(high, of_broker[1])
    return found
