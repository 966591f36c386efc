"""Configs of topics and brokers.

java_values.py          values as Java reads and prints them
config_definitions.py   which configs there are, their types and checks
broker_config_rules.py  what a broker says to cluster-wide configs, and which it cannot live with
standing_defaults.py    which cluster-wide configs that stand brokers cannot live with
config_layers.py        the places where a broker finds a value, and what they give together
live_brokers.py         what the registered brokers make of the configs of topics
topic_config_rules.py   which configs a topic may have
own_settings.py         settings of servers as configs: who takes them, and who does not any more
"""
