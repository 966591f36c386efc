"""Topics.

topic_changes.py        creation and growth; the most partitions (MOST_PARTITIONS); which changes ZooKeeper holds after
                        a commit whose answer was lost
topic_deletion.py       what a mark in /admin/delete_topics means, whether a topic may be deleted, and which replicas
                        confirm it first. Its leases and waiting moves end in
                        `core.writers.topic_writes.begin_deletion`; `controller.duties.topic_deletion` counts what
                        brokers confirm
missing_replicas.py     replaces replicas that stock brokers placed on this server, fills missing ones, and replaces new
                        ones that others have placed on cordoned brokers; whether a replica on this server's broker id
                        belongs to a real broker
duplicate_topic_ids.py  which of the topics with one id is served
replica_placement.py    Kafka's placement of new replicas on brokers and racks, also for `kafka-reassign --generate`
"""
