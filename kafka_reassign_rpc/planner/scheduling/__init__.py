"""In which order moves start, how long they take, and what limits them.

queue_order.py         priorities; the order of a plan, and of a repair
move_batching.py       batches within limits (`BatchLimits` of goals_and_options.py); tries other orders of a small
                       plan, and which is good enough (GOOD)
copy_table.py          the copies of moves, and their least time; how copies share the network
plan_simulation.py     carries out moves in virtual time: how long they take, what brokers send and receive; what
                       other limits would gain, if that is WORTH a line
time_budget.py         what can be done in a given time
"""
