"""Which replicas of one broker go to another of its log dirs.

disk_values.py   what a caller hands over, and gets; the defaults (`DiskGoal`, `DiskLimits`)
disk_room.py     bytes that still fit on a volume
disk_moves.py    the plan
"""
