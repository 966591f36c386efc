"""A round: the controller learns facts, decides, commits, replays.

facts.py               what others have written or brokers have reported, and how the cluster changes with it
topic_facts.py         the same of topics, their partitions, and marks of deletion
round_view.py          the cluster with the changes of the round on top: input and output of every decision
replay.py              puts a durable round into the `Cluster`
reload.py              what a controller keeps when it reads the cluster again
topic_writes.py        how those put topics and partitions in
read_partition.py      a partition as its znodes show it
durable_assignment.py  what a topic znode says of a partition
changed_by_others.py   topics and partitions whose znodes others remove, put back or edit
"""
