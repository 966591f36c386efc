"""All that writes into the `Cluster`.

facts.py         what others have written or brokers have reported
look_facts.py    the same of a KRaft cluster, seen by a look
topic_facts.py   the same for topics, their partitions, and marks of deletion
replay.py        puts a durable round in
reload.py        what a controller keeps when it reads the cluster again
topic_writes.py  how those put topics and partitions in
"""
