"""What ends a broker, a part of it or a KRaft controller: the values that Kafka takes, or finds, and cannot live with.

table.py              one table of all of them: where they are stored, who reads them, what dies, the cure
broker_values.py      the rules of the table for configs of brokers: what they accept and cannot live with
topic_values.py       those for configs of topics
client_values.py      those for names, quotas, credentials and addresses of clients
standing_defaults.py  which existing cluster-wide configs break brokers

Those for whole znodes are in `zookeeper.restart_znodes`.
"""
