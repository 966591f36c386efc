"""`submit` carries out a plan, as docs/pipeline.md says under "Submit".

submit_plan.py, submit_settings.py    a run; intervals, output
window_run.py, move_window.py    moves begin as others end; which may be in flight (pure)
batch_run.py    one batch after the other
batch_changes.py    what submit changes in the cluster
batch_state.py        how far moves are (pure)
plan_progress.py      moves, bytes and time of the plan (pure)
plan_difference.py    `plan show` with the state of each move
plan_warnings.py      a throttle that is too low, and the like
patient_cluster.py    questions, repeated while the cluster does not answer
withdrawal.py, undo_cancels.py    an early end, and the way back, take back what is under way
replica_order.py      replicas with a first leader in front (pure)
drained_brokers.py, drain_rest.py    cordons drained brokers, moves what came since the snapshot
emptiness.py          whether what the plan empties is empty (pure)
first_health.py, health_watch.py    health before the plan, and while moves run
stop_conditions.py, lost_brokers.py    when submit stops; moves to a lost broker (pure)
"""
