"""Commands: what clients, brokers and ZooKeeper ask of the controller. The loop decides them one after the other.

    command                        base class `Command`, and `Round`, which the commands of one round share
    alter_reassignments_command    AlterPartitionReassignments
    reassign_partitions_commands   `/admin/reassign_partitions` and its cancel
    queue_commands                 `/admin/reassign_partitions_queue`; another rate for the throttle leases of moves;
                                   their end before a migration to KRaft
    leadership_commands            elections, AlterPartition, controlled shutdown, failed log dirs
    topic_commands                 topics that are created, grow, are deleted, or change in ZooKeeper
    cluster_commands               controller failover, registered brokers, configs, sizes, confirmed stops
    repair_commands                self-healing: failed brokers and log dirs, and repairs no longer needed; which
                                   absent brokers hold replicas, for the commands that need to know
    queue_repairs_command          the moves of a planned repair join the queue; repairs that are approved

(`watches/request_znodes.py` has those of `/admin/reassignment_requests`.)
"""
