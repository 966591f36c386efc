"""`submit` carries out a plan: moves begin as others end, or batch after batch.

submit_plan.py, submit_settings.py    the run: check the cluster, choose the way; intervals, output
window_run.py, move_window.py    moves begin as others end; which may be in flight (pure)
batch_run.py, batch_changes.py    one batch after the other; what submit changes in the cluster
batch_state.py        how far moves are, from what the cluster shows (pure)
plan_progress.py      moves, bytes and time of the whole plan (pure)
plan_difference.py    `plan show` with the state of each move now
plan_warnings.py      a throttle that is too low, and the like (pure)
patient_cluster.py    questions to the cluster, repeated while it does not answer
withdrawal.py, undo_cancels.py    an early end, and the way back, take back what is under way
replica_order.py      the order of replicas before moves with a first leader (pure)
drained_brokers.py, drain_rest.py    cordons drained brokers, and moves what came since the snapshot
emptiness.py          what submit says of brokers and log dirs that its plan empties (pure)
first_health.py, health_watch.py    the health before the plan, and checks while moves run
stop_conditions.py, lost_brokers.py    when submit stops, and moves that wait for a lost broker (pure)
"""
