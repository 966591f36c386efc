"""The command against the stock tool, and what it has beyond it."""
