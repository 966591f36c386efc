"""`history`: what the events of moves show.

history_job.py       the tables, made once
history_stream.py    the tables, updated while events arrive
stream_checkpoint.py where it remembers what it has read
"""
