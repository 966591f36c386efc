"""`submit`: a plan is carried out, batch after batch.

submit_plan.py        the run: check, begin a batch, follow it
batch_changes.py      begin a batch, take it back if part of it is refused, change its throttle
patient_cluster.py    questions to the cluster, asked again while it does not answer
submit_settings.py    intervals, output
batch_state.py        how far a batch is, from what the cluster shows
stop_conditions.py    when submit stops: broker lost, partitions under-replicated
"""
