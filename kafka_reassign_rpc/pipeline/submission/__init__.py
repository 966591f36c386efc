"""`submit` carries out a plan: moves begin as others end, or batch after batch.

submit_plan.py        the run: check the cluster, choose the way
window_run.py         moves begin as others end
move_window.py        which moves may be in flight (pure)
plan_progress.py      moves, bytes and time of the whole plan (pure)
withdrawal.py         an early end: takes back what waits in the controller's queue
undo_cancels.py       the way back of a plan: cancels what is under way
replica_order.py      the order of replicas before moves with a first leader (pure)
drained_brokers.py    cordons the brokers that a plan drains, moves what came meanwhile, says whether they are empty
emptiness.py          what submit says of brokers and log dirs that its plan empties (pure)
drain_rest.py         where goes what came to them meanwhile (pure)
plan_warnings.py      a throttle that is too low (pure)
batch_run.py          one batch after the other
batch_changes.py      begin moves, take a batch back if part of it is refused, change the throttle, elect leaders
first_health.py       the cluster's health before the plan began, in a file of the plan
health_watch.py       checks while moves run
stop_conditions.py    when submit stops: broker lost, partitions under-replicated (pure)
lost_brokers.py       moves that wait for a lost broker (pure)
batch_state.py        how far moves are, from what the cluster shows (pure)
plan_difference.py    `plan show` beside the cluster as it is now
patient_cluster.py    questions to the cluster, repeated while it does not answer
submit_settings.py    intervals, output
"""
