"""Names of configs in tests of the config APIs. OURS: those that Kafka does not have."""

from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS

THROTTLED = "leader.replication.throttled.replicas"
RATE = "leader.replication.throttled.rate"
THROTTLED_TEXT = (
    f"{THROTTLED} must be the literal '*' or a list of replicas in the following format: "
    "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
)
OURS = tuple(sorted(SERVER_SETTINGS))
