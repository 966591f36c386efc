"""Topics.

topic_changes.py      creation, growth and deletion
replica_placement.py  Kafka's placement of new replicas on brokers and racks
"""
