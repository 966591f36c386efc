"""Names of configs in tests of the config APIs. OURS: those that Kafka does not have."""

THROTTLED = "leader.replication.throttled.replicas"
RATE = "leader.replication.throttled.rate"
THROTTLED_TEXT = (
    f"{THROTTLED} must be the literal '*' or a list of replicas in the following format: "
    "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
)
OURS = (
    "cordoned.brokers",
    "failure.alert.interval.ms",
    "failure.interval.ms",
    "partition.reassignments.enabled",
    "partition.reassignments.hold.after.absence.ms",
    "partition.reassignments.max.bytes.in.flight",
    "partition.reassignments.max.per.broker",
    "partition.reassignments.max.per.cluster",
    "partition.reassignments.replication.factor.change.allowed",
    "reassignment.windows",
    "self.healing.approval",
    "self.healing.cancel.on.return",
    "self.healing.max.failed.brokers",
    "self.healing.max.failed.percentage",
    "self.healing.max.moves",
    "self.healing.paused",
    "self.healing.throttle",
)
