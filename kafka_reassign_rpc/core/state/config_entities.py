"""Kafka's names (ConfigType, ConfigEntityName)."""

TOPICS = "topics"
BROKERS = "brokers"

DEFAULT = "<default>"
"""The name of the default entity. Among brokers: the cluster-wide configs."""
