"""What happens in ZooKeeper, turned into commands for as long as a term lasts.

zookeeper_watches           all watches of a term, and which read follows each
request_znodes              `/admin/reassignment_requests`, started one after the other; how many are read at once
                            (READ_TOGETHER)
broker_notifications        failed log dirs, ISRs that brokers have written by themselves,
                            `/admin/preferred_replica_election`
unreadable_znodes           states and configs that cannot be read, until they are repaired
"""
