"""Which replicas of one broker go to another of its log dirs.

disk_room.py     what a caller hands over, and gets; the defaults (`DiskGoal`, `DiskLimits`); bytes that still fit on a
                 volume
disk_moves.py    the plan
"""
