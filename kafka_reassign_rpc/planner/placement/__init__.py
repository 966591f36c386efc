"""Which proposals the coordinator accepts, and where their replicas go.

acceptance_thresholds.py  how many of the proposals each broker accepts
forced_rounds.py          how a goal that forces changes places replicas: by time first, in a few rounds
filling_broker.py         a broker that fills up
fill_levels.py            how full brokers become while replicas are distributed over them
rack_weights.py           how often each rack is drawn
broker_speeds.py          the relative speeds of brokers
placing.py                places large replicas, and the few that are left, one by one
spare_loads.py            what brokers can lose or get, so that copies can be taken back
balance_round.py          what a balancing round tells chunks about brokers
spread_rounds.py          the rounds in which topics are spread
search_round.py           the last round of a rebalance, in which the coordinator sees partitions
searched_placement.py     where replicas lie while that search tries changes: cost and hard rules
exchange_search.py        the search for the fewest bytes until every broker is within the tolerance
withdrawal.py             takes back what a time limit leaves no time for
first_leaders.py          which replica leads before a copy begins
"""
