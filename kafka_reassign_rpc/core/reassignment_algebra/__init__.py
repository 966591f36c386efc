"""Replica sets of a move, without regard to live brokers (KIP-455, KIP-236).

assignment.py      target, adding and removing replicas; cancel; pending deletion
completion.py      when a move is complete, and the partition after it
target_change.py   which adding replicas of a former target are retained, and which are removed at once
"""
