"""What chunks propose, and their messages to and from the coordinator.

change_proposal.py    a proposal, and the loads that it moves; classes of gain for a byte (CLASSES)
forced_proposals.py   hard rules: what must change, and the order of replicas after it; the text of each reason why a
                      partition is left out
imbalance_cost.py     what a broker away from its targets costs; why a change evens brokers out
round_parameters.py   what chunks know before a round
round_sums.py         what they send back
piecewise.py          what the coordinator sees one by one
"""
