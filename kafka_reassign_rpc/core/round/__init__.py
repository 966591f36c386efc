"""A round: the controller decides, commits, replays.

round_view.py  the cluster with the changes of the round on top: input and output of every decision
durable_assignment.py  what a topic znode says of a partition
changed_by_others.py   topics and partitions whose znodes others remove, put back or edit
replay.py      the only place that changes the `Cluster`
"""
