"""Which proposals the coordinator accepts, and where their replicas go.

acceptance_thresholds.py  how many proposals each broker accepts
forced_rounds.py          rounds of a goal that forces changes; how many (FORCED_ROUNDS)
filling_broker.py         a broker that fills up
fill_levels.py            how full brokers become
rack_weights.py           how often each rack is drawn
placing.py                places replicas one by one
spare_loads.py            what brokers can do without, or with, at the end
spare_rooms.py            what may still come to each broker
balance_round.py          a balancing round
spread_rounds.py          rounds that spread topics
search_round.py           the last round of a rebalance: how much its search may see and try (SMALL, _MOST_STEPS, _WORK,
                          …)
searched_placement.py     which changes its search may make, and what they cost (`SearchLimits`, EDGE)
exchange_search.py        how it searches: simulated annealing, its temperatures (`_Schedule`), a seed for each pass
withdrawal.py             takes back what a time limit leaves no time for
first_leaders.py          which replica leads before a copy begins
"""
