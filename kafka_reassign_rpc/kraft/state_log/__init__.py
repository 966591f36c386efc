"""A log of decisions in one topic of the cluster. Who writes it leads; who has been silent is replaced.

state_log       one server's side of the log: claim, commit, heartbeats, snapshots, reading
log_writer      a term's producer: batches until they are durable
log_tail        batches from an offset on
log_topic       the topic: found, created, its settings judged
leader_calls    requests to the leader of its only partition
log_reading     which records count (terms, whole commits). Pure
log_format      what is in a record, and how a commit is cut into records. Pure
record_batches  Kafka's record batches. Pure
silence         when a server takes over. Pure
log_errors      how it fails
"""

TOPIC = "__kafka_reassign"
"""Its usual name."""
