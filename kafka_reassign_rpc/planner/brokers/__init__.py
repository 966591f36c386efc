"""What brokers hold, should hold, and have room for.

broker_load.py        what replicas bring to a broker
broker_targets.py     what brokers should hold; their weights
reachable_targets.py  what racks allow of that; bytes that no plan can do without
broker_room.py        bytes that still fit
log_dir_volumes.py    which log dirs share a volume: by how much readings may differ (WRITTEN_BETWEEN)
broker_choice.py      which broker gets a new replica
rack_rule.py          the rack rule
"""
