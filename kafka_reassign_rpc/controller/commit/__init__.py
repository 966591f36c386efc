"""Makes rounds durable in ZooKeeper.

durable_store      fenced transactions under the controller epoch; reads and reloads the cluster
znode_writes       the writes of a round, in an order that a crash cannot hurt
queue_writes       the part of them that is about the queue
topic_removal      the end of topics whose replicas are deleted, and of deletion marks that mark no topic
throttle_configs   throttle leases: topic and broker configs that follow the moves in flight
memory_writes      the writes of such a config and of its former value
"""
