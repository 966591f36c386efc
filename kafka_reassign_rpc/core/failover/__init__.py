"""What a controller decides when its term begins.

controller_failover.py  what it decides about each partition that it has loaded
edits_meanwhile.py      what others have edited while no controller ran, as far as brokers prove it
former_controllers.py   under which epoch it has to be elected so that brokers obey, by how much that rises (STEPS,
                        FARTHEST); holds waiting moves after others have controlled the cluster for long
"""
