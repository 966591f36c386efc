"""Which proposals the coordinator accepts, and where their replicas go.

acceptance_thresholds.py  how many proposals each broker accepts
forced_rounds.py          rounds of a goal that forces changes; how many (FORCED_ROUNDS)
placing.py                places replicas one by one; how full brokers become, and how often each rack is drawn
spare_loads.py            what may still come to each broker; what it can do without, or with, at the end
balance_round.py          a balancing round, and rounds that spread topics
searched_placement.py     which changes the search of the last round may make, and what they cost (`SearchLimits`, EDGE)
exchange_search.py        the last round of a rebalance: how much its search may see and try (SMALL, _MOST_STEPS, _WORK,
                          …); simulated annealing, its temperatures (`_Schedule`), a seed for each pass
withdrawal.py             takes back what a time limit leaves no time for
first_leaders.py          which replica leads before a copy begins
"""
