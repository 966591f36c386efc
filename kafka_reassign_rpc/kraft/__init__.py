"""The service in front of a cluster in KRaft mode, which keeps the truth about replicas, ISRs and leaders itself.

front/      the listener for admin clients in front of the cluster
upstream/   what the cluster is asked, and what it is told
"""
