"""The event logs of servers as Parquet.

event_files.py      which columns events have, how files are named, how they are checked and read
export_events.py    fetch new events from the servers of a cluster
"""
