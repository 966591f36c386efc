"""Decides where replicas should lie: pure functions over plain values, without I/O, clock or Spark. The plan job runs
it on Spark, self-healing in the controller (docs/decisions/0006).

goals_and_options.py     what a caller asks for, with the defaults (`PlanOptions`): tolerance, headroom, locality
                         (whether copies stay in their rack), weights; of batches (`BatchLimits`)
network_limits.py        what brokers can send and receive (BANDWIDTH by default)
goal_check.py            whether a goal makes sense; which weights change nothing
planner_cluster.py       the cluster that a caller hands over
plan_result.py           moves, partitions left out, figures
in_memory_planner.py     a plan of forced changes, one by one, in slices
round_coordinator.py     between rounds: targets, acceptance, the end
chunk_round.py           a round on one chunk of topics
deterministic_random.py  random numbers, the same in every process
brokers/                 what brokers hold, should hold and have room for; racks
scheduling/              start order and duration of moves
proposals/               what chunks propose; their messages
disks/                   moves to another log dir of the broker
placement/               which proposals are accepted, and where to
columns/                 many partitions at once

Costs: how much each measure counts is `GoalWeights` of goals_and_options.py. What a broker away from its targets costs
is in proposals/imbalance_cost.py, what a change gains for a copied byte in columns/balance_scores.py, what the search
of the last round pays in placement/searched_placement.py.

Each folder may use those above it and the plain values at the top. What carries out a plan uses scheduling alone.
"""
