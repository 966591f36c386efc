"""Configs of topics and brokers.

config_definitions.py   which configs there are, their types and checks
broker_config_rules.py  what a broker says to cluster-wide configs, and which it cannot live with
"""
