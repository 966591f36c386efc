"""`audit` (audit_job): what snapshots taken over time show. The page is `reports/audit_report.py`."""
