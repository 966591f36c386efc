"""Snapshots of clusters.

snapshot_schema.py    files and columns
snapshot_files.py     writes, checks and reads them
snapshot_series.py    snapshots that were taken over time
broker_rows.py        brokers, without what contradicts itself
log_dir_rows.py       log dirs, without what contradicts itself
possible_figures.py   refuses what no cluster can show
named_brokers.py      brokers that an operator names
export_snapshot.py    exports a running cluster
cluster_look.py       partitions and moves, as they are together
export_warnings.py    what an export could not find out
growth_rates.py       produce rates from two snapshots
rates_over_time.py    rates over several snapshots
rate_columns.py       which rates a partition has
rates_table.py        rates that an operator gives
"""
