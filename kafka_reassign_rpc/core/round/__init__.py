"""A round: the controller decides on its view of the cluster.

round_view.py         the cluster with the changes of the round on top: input and output of every decision
changed_by_others.py  topics and partitions whose znodes others remove, put back or edit
"""
