"""Topics.

topic_changes.py        creation and growth; the most partitions (MOST_PARTITIONS)
topic_deletion.py       whether a topic may be deleted, and which replicas confirm it first. Its leases and waiting
                        moves end in `core.writers.topic_writes.begin_deletion`; `controller.duties.topic_deletion`
                        counts what brokers confirm
cordon_corrections.py   replaces new replicas that others have placed on cordoned brokers
deletion_marks.py       what a mark in /admin/delete_topics means
lost_commits.py         which changes ZooKeeper holds after a commit whose answer was lost
missing_replicas.py     replaces replicas that stock brokers placed on this server, and fills missing ones
own_replicas.py         whether a replica on this server's broker id belongs to a real broker
duplicate_topic_ids.py  which of the topics with one id is served
replica_placement.py    Kafka's placement of new replicas on brokers and racks, also for `kafka-reassign --generate`
"""
