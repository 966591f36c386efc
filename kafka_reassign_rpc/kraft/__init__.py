"""The service in front of a cluster in KRaft mode, which keeps the truth about replicas, ISRs and leaders itself.

front/            the listener for admin clients in front of the cluster
state_log/        a topic of the cluster with what the service has decided: the fence between servers, too
round_records     what is durable of a round, as JSON, and how much a record holds (MOST_MOVES); intents: what the state
                  log says, replayed: moves, the queue, failures, memories of throttles
cluster_seen      a look at the cluster, with the intents on top; which topics are gone, by looks that deny them
ports             what the store needs of the log and of the cluster
kraft_store       the store of the controller's loop; when it looks again (AGAIN_S), how often it sees to snapshots
                  (SNAPSHOT_S)
leased_configs    the configs of throttle leases, at the cluster; when a refused one is tried again:
                  `controller.throttle_leases`
kraft_commands    commands that only this service has
sightings         which looks count for a move, and how often they agree (how many: LOOKS of `core.phases.phases`)
cluster_poller    looks at the cluster from time to time
alter_sender      sends it what durable rounds ask for; what an answer means: `upstream`; who has asked for a move,
                  until it is known what the cluster makes of it
upstream          what the cluster is asked (a look) and told, over the project's client (PARTITIONS_A_REQUEST); what is
                  known of a change then: which errors are a refusal, which leave it open, which say that it may be
                  taken later
upstream_cluster  the cluster as store and looks want it, by `upstream`; how often all configs are read (ALL_CONFIGS_S)
standby           a server that does not lead: it replays the log, and claims it once nobody leads; how a server is
                  called in its claims
kraft_node        this server as the handlers of requests see it; settings of all servers, as clients read and change
                  them; quotas of clients, for requests that are answered here
leave_cluster     takes away what of ours is in a cluster
kraft_check       whether a server may be put in front of a cluster
read_status       what the log and the cluster say to somebody who does not lead
importing         what `leave --export` kept in ZooKeeper mode, for the state log
kraft_process     one server: its parts, in the order of their start
term_duties       the loop and what works for it; how long a client waits for the cluster (MOST_TOLD_MS); outcomes of
                  moves reach an event log although servers die
term              a term, from the claim of the log until another server has it, and the state log as the store wants it
"""
