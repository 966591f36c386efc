"""The values that all decisions read.

cluster.py          `Cluster`, and `SoftState`, which no store holds; partitions that others have taken out of the
                    store, as they were last known; how many (MOST_FORMER)
partition.py        `MoveTerms`, `Partition`, and the `MoveRecord` of its move in flight; `Topic`, the text of its id,
                    and `Twin`: a topic whose id is that of another one
broker.py           `Broker`, the `Endpoint`s where it is reached, and what is recorded of lost log dirs; what a cluster
                    in KRaft mode reports of its brokers besides its metadata
topic_partition.py  `TopicPartition`, the name of a partition
requesters.py       who asked for a decision
queue_entries.py    the queue: waiting moves, whether they may start (held, unapproved), and the znodes that store them;
                    entries of `/admin/reassign_partitions`
waiting_lines.py    what the moves of the queue wait for
throttle_leases.py  throttle leases, by topic and broker
"""
