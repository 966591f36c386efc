"""Plans that move replicas between the log dirs of a broker.

disk_plan.py           summary.json of such a plan
disk_plan_files.py     its files and columns
disk_snapshot.py       log dirs and replicas of a snapshot
plan_disks_job.py      makes a plan
verify_disks.py        checks a plan, without any code of the planner
verify_disk_files.py   rules about files, figures and the spread
disk_facts.py          what the check reads
disk_texts.py          such a plan in words
disk_state.py          how far a move is (pure)
disk_queue.py          which moves begin next, and how often one is tried again (MOST_BEGINNINGS, MOST_REFUSALS; pure)
disk_throttle.py       Kafka's throttle of such copies
submit_disks.py        `submit` of such a plan
"""
