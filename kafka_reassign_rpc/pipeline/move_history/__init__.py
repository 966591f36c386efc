"""`history`: what the events of moves show.

history_job.py       the tables; moves of all tasks, in order, without holding them
history_chunk.py     moves from the events of some partitions
history_stream.py    updates them while events arrive
stream_checkpoint.py where it remembers what it has read
"""
