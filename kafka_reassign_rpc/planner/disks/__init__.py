"""Which replicas of one broker go to another of its log dirs.

disk_values.py   what a caller hands over, and what it gets
disk_room.py     how many bytes still fit on a volume
disk_moves.py    the plan of one broker: empty log dirs, or even out what its volumes hold
"""
