"""The service in front of a cluster in KRaft mode, which keeps the truth about replicas, ISRs and leaders itself.

front/      the listener for admin clients in front of the cluster
state_log/  a topic of the cluster with what the service has decided: the fence between servers, too
upstream/   what the cluster is asked, and what it is told
"""
