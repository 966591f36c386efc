"""Snapshots of clusters.

snapshot_schema.py    which files and columns a snapshot has
snapshot_files.py     write, check and read a snapshot
snapshot_series.py    find the snapshots that were taken over time
log_dir_rows.py       the log dirs of a snapshot, without what contradicts itself
possible_figures.py   refuses sizes and rates that no cluster can show
named_brokers.py      whether what an operator says of brokers fits those of a snapshot
export_snapshot.py    export a running cluster as a snapshot
cluster_look.py       partitions and moves, as they are together
export_warnings.py    what an export could not find out
growth_rates.py       produce rates from two snapshots
rate_columns.py       which rates a partition has
rates_table.py        rates that an operator gives
"""
