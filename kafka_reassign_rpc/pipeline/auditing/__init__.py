"""`audit`: what snapshots over time show.

A new finding comes from `audit_chunk` (of partitions) or from `ending_configs` (of configs); `audit_job` has it in its
tables, and `reports/audit_report` on its page.

audit_job.py        the tables, from what chunks show
audit_chunk.py      what snapshots show of some topics
load_spread.py      how even the load is, against the targets that plans have
log_dir_spread.py   the same of log dirs, as `plan disks` has them
ending_configs.py   configs that end a broker at its start; which ones: `core.restarts.table`
"""
