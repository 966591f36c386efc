"""In which order moves start, how long they take, and what limits them.

start_order.py         priorities; the order of a repair
queue_order.py         the order of a plan
move_batching.py       batches within limits (`BatchLimits` of goals_and_options.py)
copy_table.py          the copies of moves, and their least time
fair_rates.py          how copies share the network
plan_simulation.py     carries out moves in virtual time: how long they take, what brokers send and receive
plan_estimate.py       duration of a plan; what other limits would gain, if that is WORTH a line
order_search.py        tries other orders of a small plan; which is good enough (GOOD)
time_budget.py         what can be done in a given time
"""
