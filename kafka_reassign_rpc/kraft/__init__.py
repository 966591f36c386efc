"""The service in front of a cluster in KRaft mode, which keeps the truth about replicas, ISRs and leaders itself.

upstream/   what the cluster is asked, and what it is told
"""
