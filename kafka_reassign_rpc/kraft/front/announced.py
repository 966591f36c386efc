"""The APIs of the front: those of administrators. Whoever produces, consumes, or takes part in groups and transactions
goes to the brokers.
"""

from collections.abc import Mapping

from kafka_reassign_rpc.protocol.versions import FIRST_VENDOR_KEY, SUPPORTED, ApiKey

OURS = frozenset({ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS})
"""Kafka's APIs that the handler answers, beside those of this product (`FIRST_VENDOR_KEY`)."""

LOGIN = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.API_VERSIONS, ApiKey.SASL_AUTHENTICATE})

RELAYED = LOGIN | {
    ApiKey.METADATA,
    ApiKey.LIST_OFFSETS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.DELETE_RECORDS,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.ELECT_LEADERS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.UPDATE_FEATURES,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
}

_WITHOUT_BARE_TOKENS = (1, 1)
"""After SaslHandshake 0 tokens come without a header, and nobody between client and broker knows when they end."""
READ_HERE: Mapping[int, tuple[int, int]] = {
    ApiKey.SASL_HANDSHAKE: _WITHOUT_BARE_TOKENS,
    ApiKey.API_VERSIONS: SUPPORTED[ApiKey.API_VERSIONS],
    ApiKey.METADATA: SUPPORTED[ApiKey.METADATA],
    ApiKey.DESCRIBE_CLUSTER: SUPPORTED[ApiKey.DESCRIBE_CLUSTER],
    ApiKey.SASL_AUTHENTICATE: SUPPORTED[ApiKey.SASL_AUTHENTICATE],
}
"""Requests whose answers are read here are taken in versions that this server reads. ApiVersions 5 (KIP-1242) names the
node that is meant, and a broker would not know itself in it.
"""


def is_ours(key: int) -> bool:
    return key in OURS or key >= FIRST_VENDOR_KEY


def is_served(key: int, version: int, ours: Mapping[int, tuple[int, int]]) -> bool:
    """`ours`: the versions of the handler's APIs."""
    if is_ours(key):
        low, high = ours.get(key, (0, -1))
    elif key in RELAYED:
        low, high = READ_HERE.get(key, (0, version))
    else:
        return False
    return low <= version <= high


def announced(
    of_broker: Mapping[int, tuple[int, int]], ours: Mapping[int, tuple[int, int]]
) -> dict[int, tuple[int, int]]:
    """What ApiVersions tells, by what the broker tells."""
    found = {key: versions for key, versions in ours.items() if is_ours(key)}
    for key, (low, high) in of_broker.items():
        if key in RELAYED:
            here = READ_HERE.get(key, (low, high))
            versions = max(low, here[0]), min(high, here[1])
            if versions[0] <= versions[1]:
                found[key] = versions
    return dict(sorted(found.items()))
