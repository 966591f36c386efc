"""The store in front of ZooKeeper (`controller.store`).

store                the store: reads the cluster, makes rounds durable
fenced_zookeeper     fenced transactions and reads that a lost connection does not end, also for duties
znode_writes         the writes of a round, in an order that a crash cannot hurt
queue_writes         the part of them that is about the queue
leased_config_znodes  the configs that throttle leases change, and the memory of their former values
topic_removal        the end of topics whose replicas are deleted, and of deletion marks that mark no topic
"""
