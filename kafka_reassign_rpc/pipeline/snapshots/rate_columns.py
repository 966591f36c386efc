"""The rates of a partition."""

RATES = ("produce_rate", "fetch_rate", "message_rate", "cpu_rate")
"""Columns of `partitions`."""
MOST_RATE = float(1 << 40)
"""No partition gets or sends so much; sums of larger ones would not fit into columns."""
