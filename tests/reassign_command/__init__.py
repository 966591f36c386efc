"""Tests of `kafka-reassign`: compared with the stock tool, and its own actions."""
