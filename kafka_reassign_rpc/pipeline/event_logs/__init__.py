"""The event logs of servers as Parquet.

event_files.py      columns, names, checks
export_events.py    fetches new events of a cluster
"""
