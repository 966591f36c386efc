"""A log of decisions in one topic of the cluster. Who writes it leads; who has been silent is replaced.

state_log       one server's side of the log: claim, commit, heartbeats, snapshots (SNAPSHOT_BYTES), reading
log_writer      a term's producer: batches until they are durable
log_topic       the topic: found, created (REPLICAS, MIN_INSYNC), its settings judged
leader_calls    requests to the leader of its only partition; batches from an offset on; how long it waits for its
                followers (ACKS_MS)
log_reading     which records count (terms, whole commits); when a server takes over: after LEAD_S without a record of
                the leader, which beats BEATS times within it. Pure
log_format      what is in a record, how a commit is cut into records, and how large it may be (MOST_BYTES). Pure
record_batches  Kafka's record batches. Pure
log_errors      how it fails
"""

TOPIC = "__kafka_reassign"
"""Its usual name."""
