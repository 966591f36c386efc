"""Which proposals the coordinator accepts, and where their replicas go.

acceptance_thresholds.py  how many proposals each broker accepts
forced_rounds.py          rounds of a goal that forces changes
filling_broker.py         a broker that fills up
fill_levels.py            how full brokers become
rack_weights.py           how often each rack is drawn
placing.py                places replicas one by one
spare_loads.py            what brokers can do without, or with, at the end
spare_rooms.py            what may still come to each broker
balance_round.py          a balancing round
spread_rounds.py          rounds that spread topics
search_round.py           the last round of a rebalance
searched_placement.py     what its search may do, and its costs
exchange_search.py        how it searches
withdrawal.py             takes back what a time limit leaves no time for
first_leaders.py          which replica leads before a copy begins
"""
