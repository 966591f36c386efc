"""Moves that come through ZooKeeper (KIP-236).

reassign_partitions.py    `/admin/reassign_partitions` (the batch) and its cancel
reassignment_requests.py  `/admin/reassignment_requests/request_NNN`
znodes_read.py            what was read of these znodes
route_rules.py            how a target from ZooKeeper starts; which routes exclude each other
"""
