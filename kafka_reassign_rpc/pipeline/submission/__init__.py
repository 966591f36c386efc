"""`submit`: a plan is carried out, batch after batch.

submit_plan.py        the run: check, begin a batch, follow it, take it back if part of it is refused
batch_state.py        how far a batch is, from what the cluster shows
stop_conditions.py    when submit stops: broker lost, partitions under-replicated
"""
