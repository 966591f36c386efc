"""The store in front of ZooKeeper (`controller.store`).

fenced_zookeeper     the store: reads the cluster, makes rounds durable; fenced transactions and reads that a lost
                     connection does not end, also for duties
znode_writes         the writes of a round, in an order that a crash cannot hurt, those of the queue too
leased_config_znodes  the configs that throttle leases change, and the memory of their former values
"""
