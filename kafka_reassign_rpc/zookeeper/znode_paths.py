"""The paths of znodes, relative to the chroot."""

import re

from kafka_reassign_rpc.core import config_values
from kafka_reassign_rpc.support.bounded_text import whole_number

BROKERS = "/brokers"
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
BROKER_SEQID = "/brokers/seqid"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CLUSTER_ID = "/cluster/id"
FEATURE = "/feature"
MIGRATION = "/migration"
"""It exists from the time that a KRaft controller prepares to take the cluster over: that one then writes these znodes
too."""
PRODUCER_ID_BLOCK = "/latest_producer_id_block"
ADMIN = "/admin"
DELETE_TOPICS = "/admin/delete_topics"
REASSIGNMENTS = "/admin/reassignments"
"""It has a record of the move for each moving partition (KIP-236)."""
REASSIGNMENT_REQUESTS = "/admin/reassignment_requests"
"""The parent of persistent sequential znodes that ask for moves (KIP-236)."""
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
REASSIGN_QUEUE = "/admin/reassign_partitions_queue"
"""Moves that wait (KIP-236)."""
REASSIGN_EXTRA = "/admin/reassign_partitions_extra"
"""The queue's name in an earlier version of the proposal."""
QUEUES = (REASSIGN_QUEUE, REASSIGN_EXTRA)
CANCEL_IN_PROGRESS = "/admin/cancel_reassignment_in_progress"
"""It cancels all moves that are pending in REASSIGN_PARTITIONS (KIP-236)."""
REASSIGN_CANCEL = "/admin/reassign_cancel"
"""While it exists, reassignments are disabled: no new move starts (KIP-236)."""
THROTTLES = "/admin/reassignment_throttles"
"""It has the former value of each config that throttle leases have changed."""
SETTINGS = "/admin/reassignment_settings"
"""It has the settings that all servers of this product share."""
LAST_CONTROL = "/admin/reassignment_last_control"
"""It says when a server of this product has controlled the cluster last."""
FAILED_BROKERS = "/admin/failed_brokers"
"""It says, for each broker that is gone while it holds replicas, when that was first noticed (KIP-46)."""
FAILED_LOG_DIRS = "/admin/failed_log_dirs"
"""It says, for each registered broker that has lost log dirs, when that was first noticed, and which they are."""
REASSIGNMENT_SERVERS = "/admin/reassignment_servers"
"""It has an ephemeral znode for each running server of this product."""
REASSIGNMENT_SERVER_IDS = "/admin/reassignment_server_ids"
"""It has a persistent znode for each broker id that a server of this product has taken: no broker had replicas
there."""
SERVERS = (REASSIGNMENT_SERVER_IDS, REASSIGNMENT_SERVERS)
RECEIPTS = "/admin/reassignment_receipts"
"""It has ephemeral znodes by which a server finds out what became of a transaction whose answer was lost."""
CONFIG = "/config"
CONFIG_CHANGES = "/config/changes"
CONFIG_CHANGE_PREFIX = "/config/changes/config_change_"
CONFIG_TYPES = (config_values.TOPICS, config_values.BROKERS, "users", "clients", "ips")
PREFERRED_REPLICA_ELECTION = "/admin/preferred_replica_election"
"""It has the partitions whose preferred replicas are to lead; Kafka 2.x's election tool writes it."""
ISR_CHANGES = "/isr_change_notification"
"""It has a sequential znode for each notification of a broker that has written states of partitions by itself."""
LOG_DIR_EVENTS = "/log_dir_event_notification"
"""It has a sequential znode for each notification of a broker that has lost a log dir."""
LOG_DIR_EVENT_PREFIX = "/log_dir_event_notification/log_dir_event_"
DELEGATION_TOKENS = "/delegation_token/tokens"
DELEGATION_TOKEN_CHANGES = "/delegation_token/token_changes"  # noqa: S105
DELEGATION_TOKEN_CHANGE_PREFIX = "/delegation_token/token_changes/token_change_"  # noqa: S105
CONSUMERS = "/consumers"
ACLS = "/kafka-acl"
"""It has a znode with ACLs for each resource type and name."""
PREFIXED_ACLS = "/kafka-acl-extended/prefixed"
"""The same for prefixes of names."""
ACL_CHANGES = "/kafka-acl-changes"
EXTENDED_ACL_CHANGES = "/kafka-acl-extended-changes"
"""They have a sequential znode for each change of ACLs."""

PERSISTENT = (
    CONSUMERS,
    BROKER_IDS,
    TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    BROKER_SEQID,
    ISR_CHANGES,
    PRODUCER_ID_BLOCK,
    LOG_DIR_EVENTS,
    *(f"{CONFIG}/{kind}" for kind in CONFIG_TYPES),
    "/cluster",
)
"""The znodes that a broker creates at its start if they do not exist (ZkData.PersistentZkPaths)."""
OWN = (
    REASSIGNMENTS,
    REASSIGNMENT_REQUESTS,
    FAILED_BROKERS,
    FAILED_LOG_DIRS,
    REASSIGNMENT_SERVERS,
    REASSIGNMENT_SERVER_IDS,
    RECEIPTS,
)
"""The znodes that a server of this product also creates at its start."""

LAST_SEQUENCE = 10**10 - 1
"""The last number with the ten digits of a sequential znode's name."""
_QUEUE_PART = re.compile(r".*/part_([0-9]{10})", re.DOTALL)
_SEQUENCE = re.compile(r".*?(-[0-9]{9}|-?[0-9]{10})", re.DOTALL)
_DIGITS = 10


def broker(broker_id: int) -> str:
    return f"{BROKER_IDS}/{broker_id}"


def failed_broker(broker_id: int) -> str:
    return f"{FAILED_BROKERS}/{broker_id}"


def failed_log_dirs(broker_id: int) -> str:
    return f"{FAILED_LOG_DIRS}/{broker_id}"


def reassignment_server(server_id: int) -> str:
    return f"{REASSIGNMENT_SERVERS}/{server_id}"


def reassignment_server_id(server_id: int) -> str:
    return f"{REASSIGNMENT_SERVER_IDS}/{server_id}"


def receipt(session: int, number: int) -> str:
    return f"{RECEIPTS}/{session & 0xFFFFFFFFFFFFFFFF:016x}_{number}"


def topic(name: str) -> str:
    return f"{TOPICS}/{name}"


def partitions(name: str) -> str:
    return f"{TOPICS}/{name}/partitions"


def partition(name: str, index: int) -> str:
    return f"{TOPICS}/{name}/partitions/{index}"


def partition_state(name: str, index: int) -> str:
    return f"{TOPICS}/{name}/partitions/{index}/state"


def delete_topic(name: str) -> str:
    return f"{DELETE_TOPICS}/{name}"


def reassignment_topic(name: str) -> str:
    return f"{REASSIGNMENTS}/{name}"


def reassignment(name: str, index: int) -> str:
    return f"{REASSIGNMENTS}/{name}/{index}"


def throttle_memories(kind: str) -> str:
    """`kind` is topics or brokers."""
    return f"{THROTTLES}/{kind}"


def throttle_memory(kind: str, name: str) -> str:
    return f"{THROTTLES}/{kind}/{name}"


def reassignment_request(name: str) -> str:
    return f"{REASSIGNMENT_REQUESTS}/{name}"


def queue_part(root: str, number: int) -> str:
    return f"{root}/part_{number:010d}"


def queue_part_number(path: str) -> int | None:
    """None if the path is none of a part."""
    match = _QUEUE_PART.fullmatch(path)
    return None if match is None else whole_number(match.group(1), 0, LAST_SEQUENCE)


def delegation_token(token_id: str) -> str:
    return f"{DELEGATION_TOKENS}/{token_id}"


def config_type(kind: str) -> str:
    return f"{CONFIG}/{kind}"


def config(entity_path: str) -> str:
    return f"{CONFIG}/{entity_path}"


def config_topic(name: str) -> str:
    return f"{CONFIG}/{config_values.TOPICS}/{name}"


def config_broker(name: str) -> str:
    """The broker id as text, or `<default>`."""
    return f"{CONFIG}/{config_values.BROKERS}/{name}"


def parse_index(name: str) -> int | None:
    """A broker id or a partition's number; None for `07`, `x`, `-1`, `2147483648`."""
    number = whole_number(name, 0, 2**31 - 1)
    return number if str(number) == name else None


def sequence_number(name: str) -> int | None:
    """The place among the sequential znodes of a parent, None: it is none.

    ZooKeeper counts in 32 bits: -2147483648 comes after 2147483647, and is 2147483648 here.
    """
    match = _SEQUENCE.fullmatch(name)
    if match is None:
        return None
    text = match.group(1)
    number = whole_number(text, -(2**31), 10**_DIGITS - 1)
    if number is not None and number < 0 and f"{number:010d}" == text:
        return number + 2**32
    digits = text.removeprefix("-")
    return whole_number(digits, 0, 10**_DIGITS - 1) if len(digits) == _DIGITS else None
