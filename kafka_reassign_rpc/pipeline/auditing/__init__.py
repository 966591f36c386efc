"""`audit`: what snapshots taken over time show (audit_job, load_spread). The page is `reports/audit_report.py`."""
