"""In which order moves start, how long they take, and what limits them.

start_order.py         priorities, and the order in which the moves of a repair start
queue_order.py         the order in which the moves of a plan start
move_batching.py       moves in batches that respect limits for each broker and each batch
copy_table.py          the copies that moves need; the least time that they take
fair_rates.py          how copies share the network
plan_simulation.py     carries out moves in virtual time
plan_estimate.py       how long a plan takes, why, and what another cap or throttle would gain
order_search.py        tries other orders of a small plan
time_budget.py         what can be done in a given time
simulated_timeline.py  what each broker sends and receives over virtual time
"""
