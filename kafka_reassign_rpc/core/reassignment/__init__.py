"""One move from its target to its end.

alter.py                start, change of target and cancel of one move (AlterPartitionReassignments); why such a request
                        is refused, with the text of each refusal
reassign_partitions.py  `/admin/reassign_partitions` (the batch) and its cancel; the targets of
                        `/admin/reassignment_requests/request_NNN`; how a target from ZooKeeper starts, and which routes
                        exclude each other (KIP-236)
progress.py             follows moves: bytes, rate, remaining time, and when a move is stalled
move_progress.py        how far one move is, and one move from sample to sample; what has arrived at its replicas,
                        although logs shrink, and of what sizes do not show it
sampled_log_dirs.py     what brokers report of their log dirs
stall_reason.py         why a move is stalled: the text of each reason
move_sums.py            sums over moves in flight, waiting and ended, by request or plan (MOST_GROUPS); past ones for
                        plots; the moves that wait, and what they will copy
remaining_time.py       rate and remaining time of moves that share brokers' links; over how long a rate is measured
                        (WINDOW_S); how fast moves copy to and from brokers; observed replication throughput
"""
