"""Configs of topics and brokers.

config_definitions.py   which configs there are, their types and checks
"""
