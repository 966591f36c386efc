"""`audit`: what snapshots over time show.

A new finding comes from `audit_chunk` (of partitions) or from `ending_configs` of `audit_job` (of configs), which has
it in its tables, and `reports/result_pages` on its page.

audit_job.py        the tables, from what chunks show; configs that end a broker at its start: which ones, has
                    `core.restarts.table`
audit_chunk.py      what snapshots show of some topics
load_spread.py      how even the load is, against the targets that plans have; the same of log dirs, as `plan disks` has
                    them
"""
