"""What chunks propose, and the messages between them and the coordinator.

change_proposal.py    a proposal, and the loads that it moves between brokers
forced_proposals.py   hard rules: replicas must leave a broker, a replication factor or racks must change
balance_proposals.py  soft goals: the best change of one partition for a more even cluster
asking_goals.py       which parts of a combined goal ask for a move
topic_spread.py       an even spread of each topic: its replicas and its leaders
unneeded_copies.py    copies that a balancing plan can do without at its end
imbalance_cost.py     what a broker away from its targets costs
round_parameters.py   what every chunk of topics gets to know before a round
round_sums.py         what chunks send back: survey, sums of proposals, sums of accepted proposals
piecewise.py          proposals that the coordinator sees one by one; moves pieces from high brokers to low ones
"""
