"""`history`: what the events of moves show.

    history_job.py       the tables, made once
    history_stream.py    the tables, kept up to date while events arrive
    stream_checkpoint.py where it remembers what it has read

The page is `reports/history_report.py`.
"""
