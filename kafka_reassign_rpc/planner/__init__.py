"""The planner decides where replicas should lie: pure functions over plain values, without I/O, clock or Spark. The
pipeline's plan job runs it on Spark, self-healing inside the controller; both get the same plan.

goals_and_options.py     what a caller asks for: goal, weights of soft goals, seed, tolerance, headroom
network_limits.py        what brokers can send and receive
goal_check.py            whether a goal makes sense for a cluster
planner_cluster.py       the cluster that a caller hands over: brokers, topics, partitions
plan_result.py           what a caller gets: moves, partitions left out, figures
in_memory_planner.py     a whole plan in one process, in slices
round_coordinator.py     between rounds: targets, which proposals are accepted, when the plan is good enough
chunk_round.py           a round on one chunk of topics: propose, apply what was accepted, collect moves at the end
deterministic_random.py  random numbers that depend only on partition, seed and round
brokers/                 what brokers hold, should hold, and have room for; racks
scheduling/              in which order moves start, how long they take, and what limits them
proposals/               what chunks propose, and the messages between them and the coordinator
disks/                   which replicas go to another log dir of their broker: a planner of its own
placement/               which proposals the coordinator accepts, and where their replicas go
columns/                 survey and balancing of many partitions at once

Each room may use those above it and the plain values at the top. What carries out a plan uses scheduling alone.
"""
