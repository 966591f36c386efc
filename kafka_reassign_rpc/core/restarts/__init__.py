"""What ends a broker, a part of it or a KRaft controller: the values that Kafka takes, or finds, and cannot live with.

table.py              one table of all of them: where they are stored, who reads them, what dies, the cure
ending_values.py      its rules for configs of brokers (what they accept and cannot live with; which existing
                      cluster-wide configs break brokers) and of topics, and for names, quotas, credentials and
                      addresses of clients

Those for whole znodes are in `preflight.restart_findings`.
"""
