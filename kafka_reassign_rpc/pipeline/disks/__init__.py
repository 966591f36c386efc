"""Plans that move replicas between the log dirs of a broker.

disk_plan_files.py     files and columns of such a plan; its summary.json; the plan in words
disk_snapshot.py       log dirs and replicas of a snapshot
plan_disks_job.py      makes a plan
verify_disks.py        checks a plan, without any code of the planner
verify_disk_facts.py   what it reads
disk_queue.py          how far a move is; which begin next, and how often one is tried again (MOST_BEGINNINGS,
                       MOST_REFUSALS; pure)
submit_disks.py        `submit` of such a plan, with Kafka's throttle of such copies
"""
