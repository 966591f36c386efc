"""What a controller decides when its term begins.

controller_epochs.py    under which epoch it has to be elected so that brokers obey; by how much it rises (STEPS,
                        FARTHEST)
controller_failover.py  what it decides about each partition that it has loaded
absence.py              holds waiting moves after others have controlled the cluster for long
"""
