"""One move from its target to its end.

alter.py             start, change of target and cancel of one move (AlterPartitionReassignments)
alter_checks.py      why such a request is refused
altered.py           what it makes of the partition
in_flight_caps.py    how many moves may be in flight: per broker, per cluster, in bytes
progress.py          bytes, rate, remaining time and stalls of moves
remaining_time.py    rate and remaining time of moves that share the links of their brokers
figure_history.py    figures of all moves in the past, for plots
pending_deletion.py  brokers confirm that they deleted removed replicas
"""
