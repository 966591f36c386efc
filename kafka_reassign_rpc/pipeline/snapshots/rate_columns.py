"""The rates of a partition. Executors, which may lack pyarrow, import this module."""

RATES = ("produce_rate", "fetch_rate", "message_rate", "cpu_rate")
"""Columns of `partitions` (`snapshot_schema`)."""
