"""`audit`: what snapshots taken over time show (audit_job, load_spread, log_dir_spread, ending_configs)."""
