"""Moves that come through ZooKeeper (KIP-236).

reassign_partitions.py    `/admin/reassign_partitions` (the batch) and its cancel; the targets of
                          `/admin/reassignment_requests/request_NNN`; how a target from ZooKeeper starts, and which
                          routes exclude each other
"""
