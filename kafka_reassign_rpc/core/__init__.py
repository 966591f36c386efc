"""The controller's decisions as pure functions: no I/O, no clock, no event loop.

reassignment_algebra  replica sets in, replica sets out: target, adding, removing, cancel, completion (KIP-455); a
                      partition as its znodes show it
reassignment          one move: start, change of target, cancel, also through ZooKeeper (KIP-236); progress
phases                a move in front of KRaft: what a look at the cluster means for it, and what is sent next
leadership            leaders and ISR: elections, AlterPartition, brokers that come and go
queue                 the queue (KIP-236): which waiting moves start, caps, holds, other throttles
failover              what a new controller decides: its epoch (STEPS, FARTHEST), the partitions that it has loaded,
                      what others have edited while none ran, what waits
settings              settings of this server, of its broker and of self-healing, and which hold; windows
configs               configs of topics, brokers and users: definitions, values, what brokers accept
brokers               which brokers get no new replica, whether one may go
restarts              what ends a broker at its next start, a part of it, or a migration
acls                  authorization, as Kafka's AclAuthorizer decides
quotas                quotas of users, clients and IPs
throttling            replication throttles, throttle leases
healing               self-healing: which failed brokers are repaired, and when (KIP-46)
topics                creation, growth and deletion of topics, replica placement
round                 the view of a round, which collects its decisions
writers               all that changes the cluster: facts, the replay of a durable round, a reload
events                the events of decisions
state                 the values that all others use: cluster, partition, move, queue, leases
status                what the status API, the status page and the commands show
restrictions.py       whether reassignments are disabled, and the rule on replication factors
kafka_errors.py       errors with their Kafka codes
config_values.py      parsing of dynamic config values, as Java reads and prints them; kinds of entities with configs
document_and_command_bodies.py  JSON bodies of the vendor APIs
rack_evenness.py      how evenly replicas are spread over racks
"""
