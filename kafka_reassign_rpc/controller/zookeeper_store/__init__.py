"""The store in front of ZooKeeper (`controller.store`).

fenced_zookeeper     the store: reads the cluster, makes rounds durable, and changes the configs of throttle leases with
                     a memory of their former values; fenced transactions and reads that a lost connection does not end,
                     also for duties
znode_writes         the writes of a round, in an order that a crash cannot hurt, those of the queue too
"""
