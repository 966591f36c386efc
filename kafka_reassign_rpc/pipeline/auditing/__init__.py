"""`audit`: what snapshots over time show (audit_job, audit_chunk, load_spread, log_dir_spread, ending_configs)."""
