"""Tests of the pipeline: snapshots, event logs, plans by Spark, submit, audit, history, reports."""
