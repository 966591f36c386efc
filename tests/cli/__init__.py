"""Tests of the command line `kafka-reassign-rpc`."""
