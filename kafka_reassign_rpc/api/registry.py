"""Every API that the handlers of this package serve, and the sets that nodes are made of."""

from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.api import (
    a03_metadata,
    a07_controlled_shutdown,
    a10_find_coordinator,
    a15_describe_groups,
    a16_list_groups,
    a17_sasl_handshake,
    a18_api_versions,
    a19_create_topics,
    a20_delete_topics,
    a22_init_producer_id,
    a29_describe_acls,
    a30_create_acls,
    a31_delete_acls,
    a32_describe_configs,
    a33_alter_configs,
    a34_alter_replica_log_dirs,
    a35_describe_log_dirs,
    a36_sasl_authenticate,
    a37_create_partitions,
    a43_elect_leaders,
    a44_incremental_alter_configs,
    a45_alter_partition_reassignments,
    a46_list_partition_reassignments,
    a48_describe_client_quotas,
    a50_describe_user_scram_credentials,
    a56_alter_partition,
    a60_describe_cluster,
    a66_list_transactions,
    a67_allocate_producer_ids,
    a75_describe_topic_partitions,
    a32240_list_reassignments,
    a32241_describe_reassignments,
    a32242_describe_reassignment_events,
    a32243_describe_self_healing,
    a32244_heal_broker,
)
from kafka_reassign_rpc.api.ports import Api


def table(apis: Iterable[Api]) -> dict[int, Api]:
    """By key; a later one takes the place of an earlier one."""
    return {api.key: api for api in apis}


CLIENT_APIS: Mapping[int, Api] = table(
    (
        a03_metadata.API,
        a10_find_coordinator.API,
        a15_describe_groups.API,
        a16_list_groups.API,
        a17_sasl_handshake.API,
        a18_api_versions.API,
        a19_create_topics.API,
        a20_delete_topics.API,
        a22_init_producer_id.API,
        a29_describe_acls.API,
        a30_create_acls.API,
        a31_delete_acls.API,
        a32_describe_configs.API,
        a33_alter_configs.API,
        a34_alter_replica_log_dirs.API,
        a35_describe_log_dirs.API,
        a36_sasl_authenticate.API,
        a37_create_partitions.API,
        a43_elect_leaders.API,
        a44_incremental_alter_configs.API,
        a45_alter_partition_reassignments.API,
        a46_list_partition_reassignments.API,
        a48_describe_client_quotas.API,
        a50_describe_user_scram_credentials.API,
        a60_describe_cluster.API,
        a66_list_transactions.API,
        a75_describe_topic_partitions.API,
    )
)
"""What clients and tools ask of any node. On a node that is not the controller, what only a controller can do is
answered with NOT_CONTROLLER."""

INTER_BROKER_APIS: Mapping[int, Api] = table(
    (a07_controlled_shutdown.API, a56_alter_partition.API, a67_allocate_producer_ids.API)
)
"""What brokers ask of their controller."""

VENDOR_APIS: Mapping[int, Api] = table(
    (
        a32240_list_reassignments.API,
        a32241_describe_reassignments.API,
        a32242_describe_reassignment_events.API,
        a32243_describe_self_healing.API,
        a32244_heal_broker.API,
    )
)
"""What Kafka never allocated keys for (KIP-240), and what it has nothing like."""

SERVER_APIS: Mapping[int, Api] = {**CLIENT_APIS, **INTER_BROKER_APIS, **VENDOR_APIS}
"""What the server process serves."""
