"""The planner: decides where replicas should lie. Pure functions over plain values: no I/O, no clock, no Spark.

The pipeline's plan job runs it on Spark, self-healing runs it inside the controller. Both get the same plan.

    goals_and_options.py     what a caller asks for: the goal, the weights of soft goals, seed, tolerance, headroom
    goal_check.py            whether a goal makes sense for a cluster
    planner_cluster.py       the cluster that a caller hands over: brokers, topics, partitions
    plan_result.py           what a caller gets: moves, partitions left out, figures
    in_memory_planner.py     a whole plan in one process, in slices

    round_coordinator.py     between rounds: targets, which proposals are accepted, when the plan is good enough
    round_parameters.py      what every chunk of topics gets to know before a round
    chunk_round.py           one round on one chunk: propose, apply what was accepted, collect the moves at the end
    round_sums.py            what chunks send back: survey, sums of proposals, sums of accepted proposals

    forced_proposals.py      hard rules: replicas must leave a broker, a replication factor or racks must change
    balance_proposals.py     soft goals: the best change of one partition for a more even cluster
    imbalance_cost.py        what a broker costs that is away from its targets
    broker_targets.py        what each broker should hold
    forced_rounds.py         how a goal that forces changes places replicas: by time first, in a few rounds
    rack_weights.py          how often each rack is drawn
    placing.py               places large replicas, and the few that are left, one by one
    piecewise.py             what the coordinator sees of single proposals; moves pieces from high brokers to low ones
    first_leaders.py         which replica leads before a copy begins
    filling_broker.py        a broker that fills up
    fill_levels.py           how full brokers become while replicas are distributed over them
    acceptance_thresholds.py how many of the proposals each broker accepts
    lower_bound.py           the bytes that no plan can do without
    log_dir_volumes.py       which log dirs of a broker share a volume
    rack_rule.py             the rack rule
    broker_choice.py         which broker gets a new replica
    broker_room.py           how many bytes still fit on a broker, volume by volume
    broker_load.py           what a replica brings to a broker: bytes, replicas, leaders, produce and fetch rates
    change_proposal.py       a proposal, and the loads that it moves between brokers

    start_order.py           priorities, and the order in which the moves of a repair start
    queue_order.py           the order in which the moves of a plan start
    move_batching.py         moves in batches that respect limits for each broker and each batch
    network_limits.py        what brokers can send and receive
    copy_table.py            the copies that moves need; the least time that they take
    fair_rates.py            how copies share the network
    plan_simulation.py       carries out moves in virtual time
    plan_estimate.py         how long a plan takes, why, and what another cap or throttle would gain
    simulated_timeline.py    what each broker sends and receives over virtual time
    deterministic_random.py  random numbers that depend on partition, seed and round alone
"""
