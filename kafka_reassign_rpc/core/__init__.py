"""The controller's decisions as pure functions: no I/O, no clock, no event loop.

reassignment_algebra      replica sets in, replica sets out: target, adding, removing, cancel, completion (KIP-455)
reassignment              one move: start, change of target, cancel; caps; progress; pending deletion
leadership                leaders and ISR: elections, AlterPartition, brokers that come and go
queue                     the queue (KIP-236): which waiting moves start, caps, holds, other throttles
znode_routes              moves that come through ZooKeeper: batch and request znodes (KIP-236)
configs                   configs of topics and brokers: definitions, values, what brokers accept
restarts                  what ends a broker at its next start, a part of it, or a migration
acls                      authorization, as Kafka's AclAuthorizer decides
quotas                    quotas of users, clients and IPs
throttling                replication throttles, throttle leases, observed replication throughput
healing                   self-healing: which failed brokers are repaired, and when (KIP-46)
topics                    creation, growth and deletion of topics, replica placement
round                     the view of a round, which collects its decisions
writers                   all that changes the cluster: facts, the replay of a durable round, a reload
events                    the events of decisions
state                     the values that all others use: cluster, partition, move, queue, leases
status                    what the status API, the status page and the commands show
controller_failover.py    what a new controller decides about each partition that it has loaded
reassignment_settings.py  settings for every new move: names and defaults
healing_settings.py       those of self-healing
healing_throttle.py       `self.healing.throttle`: bytes/s, or a share of the observed throughput
server_settings.py        the catalogue of the settings that all servers share
settings_in_force.py      which settings hold, derived from all that they come from
controller_epochs.py      under which epoch a controller has to be elected so that brokers obey
absence.py                holds waiting moves after somebody else has controlled the cluster for long
windows                   windows for moves by the time of day
window_now.py             what the windows of a cluster mean at a time
own_certificates.py       who would take a server's certificates, and when they end
cordon.py                 brokers that get no new replica (KIP-1066)
departure.py              whether brokers may go: what partitions lose, and whether the others have room
restrictions.py           whether reassignments are disabled, and the rule on replication factors
kafka_errors.py           errors with their Kafka codes
unknown_partitions.py     why commands do not find a partition
broker_settings.py        settings that a controller has from the configuration of its broker
announced_versions.py     which API versions a server announces
partition_health.py       how many partitions lack in-sync replicas or a leader
scram_credentials.py      SCRAM credentials of users
config_values.py          parsing of dynamic config values
java_values.py            values of configs as Java reads and prints them
producer_id_blocks.py     which producer ids may have been given out
rack_evenness.py          how evenly replicas are spread over racks
"""
