"""Configs of topics, brokers and users.

config_definitions.py  which configs there are, their types and checks
config_rules.py        which cluster-wide configs a broker can apply, and accepts; which configs a topic may have
config_layers.py       where a broker finds a value, which layer wins, and what the registered brokers make of the
                       configs of topics
scram_credentials.py   SCRAM credentials, which are configs of users; iterations (LEAST_ITERATIONS, MOST_ITERATIONS)
"""
