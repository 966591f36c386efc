"""`submit` carries out a plan: see docs/pipeline.md.

submit_plan.py, submit_settings.py    a run; intervals, output
window_run.py, move_window.py    moves begin as others end
batch_changes.py    what submit changes in the cluster
batch_state.py        how far moves are (pure)
plan_progress.py      moves, bytes and time (pure)
plan_difference.py    `plan show` with the state of each move
plan_warnings.py      a throttle that is too low, and the like
patient_cluster.py    asks again
withdrawal.py         a run that ends early takes back moves that wait; an undo what is under way
drained_brokers.py    cordons; moves what came since the snapshot; what the plan has emptied
health_watch.py       health before the plan, and now
stop_conditions.py    when submit stops, after how many checks in a row (CHECKS_IN_A_ROW; pure)
"""
