"""What brokers hold, should hold, and have room for.

broker_load.py      what a replica brings to a broker: bytes, replicas, leaders and rates
broker_shares.py    how much each broker should hold beside the others
broker_targets.py   what each broker should hold
reachable_targets.py  targets that racks allow
broker_room.py      how many bytes still fit on a broker, volume by volume
log_dir_volumes.py  which log dirs of a broker share a volume
broker_choice.py    which broker gets a new replica
rack_rule.py        the rack rule
lower_bound.py      the bytes that no plan can do without
"""
