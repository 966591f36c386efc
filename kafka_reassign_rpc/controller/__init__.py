"""The Kafka controller: elected in ZooKeeper, it decides, makes its decisions durable, and propagates them.

controller_election   Kafka's election: who is the controller, and under which epoch; what its znodes may hold that no
                      election has written, and what to do
controller_loop       the loop that all changes go through: decide, commit, replay, propagate, answer; how often a round
                      tries again (ATTEMPTS)
lifecycle/            the server process, standby, one term as the controller, and the service that APIs call
commands/             what the loop works on, one module for each kind of command
store                 the port that each store of the cluster implements
throttle_leases       throttle leases: topic and broker configs that follow the moves in flight, and how fast those that
                      end are written (CONFIGS_PER_S), when a refused one is tried again (AGAIN_S, LONGEST_AGAIN_S)
zookeeper_store/      the store in front of ZooKeeper: a round's changes as fenced transactions
loading/              reads the cluster from ZooKeeper
watches/              ZooKeeper watches and request znodes, turned into commands
duties/               what a controller does besides its commands: propagation, progress, self-healing, …
telemetry/            event log, metrics, health
"""
