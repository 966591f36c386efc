"""`submit` carries out a plan: see docs/pipeline.md.

submit_plan.py, submit_settings.py    a run; intervals, output
window_run.py, move_window.py    moves begin as others end
batch_changes.py    what submit changes in the cluster
batch_state.py        how far moves are (pure)
plan_progress.py      moves, bytes and time (pure)
plan_difference.py    `plan show` with the state of each move
plan_warnings.py      a throttle that is too low, and the like
patient_cluster.py    asks again
withdrawal.py         a run that ends early takes back moves that wait
undo_cancels.py       an undo takes back what is under way
replica_order.py      first leaders in front (pure)
drained_brokers.py, drain_rest.py    cordons; moves what came since the snapshot
emptiness.py          what the plan has emptied (pure)
first_health.py, health_watch.py    health before the plan, and now
stop_conditions.py    when submit stops, after how many checks in a row (CHECKS_IN_A_ROW; pure)
moves_to_lost.py      moves in flight that wait for a lost broker (pure)
"""
