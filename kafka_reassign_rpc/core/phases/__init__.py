"""A move in front of KRaft: the controller of the cluster carries it out, a look at the cluster says how far.

sightings         what a look has found of one partition, compared with the move that it has
phases            phase of a move and sighting in; next phase, act and outcome out; how many looks must agree (LOOKS);
                  the event of each outcome
kraft_refusals    what KRaft would accept to its harm, and what it refuses
intent_view       a round: what is decided about a partition becomes a move with a phase
"""
