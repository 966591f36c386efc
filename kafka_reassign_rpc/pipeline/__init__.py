"""Snapshots of clusters and their event logs as Parquet, and the jobs that plan, submit, audit and report.

Heavy libraries (pyspark, pyarrow, matplotlib) are imported by the modules that need them, never by this package.
"""
