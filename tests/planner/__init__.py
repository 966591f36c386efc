"""Tests of the planner: hard rules, determinism, bytes copied, batches, the order in which moves start."""
