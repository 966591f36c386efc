"""Snapshots of clusters.

snapshot_schema.py    files and columns
snapshot_files.py     writes, checks and reads them; several that were taken over time
broker_rows.py        brokers and log dirs, without what contradicts itself; throttles that stood on brokers; brokers
                      that an operator names
possible_figures.py   refuses what no cluster can show
export_snapshot.py    exports a running cluster
cluster_look.py       partitions and moves, as they are together
growth_rates.py       produce rates from two or several snapshots, and those that an operator gives
"""
