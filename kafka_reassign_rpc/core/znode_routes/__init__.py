"""Moves that come through ZooKeeper (KIP-236).

reassign_partitions.py    `/admin/reassign_partitions` (the batch) and its cancel
queue_admission.py        `/admin/reassign_partitions_queue`: which waiting moves start
lease_rates.py            another rate for the throttle leases of moves in flight and of the queue
holding.py                moves of the queue that are held, and released
reassignment_requests.py  `/admin/reassignment_requests/request_NNN`
znodes_read.py            what was read of these znodes
route_rules.py            how a target from ZooKeeper starts; which routes exclude each other
"""
