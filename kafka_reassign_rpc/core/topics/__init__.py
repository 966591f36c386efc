"""Topics.

topic_changes.py        creation, growth and deletion
cordon_corrections.py   replicas of new topics that others have placed on cordoned brokers
deletion_marks.py       what a mark in /admin/delete_topics means
lost_commits.py         which of these ZooKeeper holds after a commit whose answer was lost
missing_replicas.py     replicas that stock brokers have placed on this server, and those for which no broker was free
own_replicas.py         whether a replica on this server's broker id is that of a real broker
replica_placement.py    Kafka's placement of new replicas on brokers and racks
"""
