"""Plans that move replicas between the log dirs of a broker: made, checked, listed, carried out.

disk_plan.py           summary.json of such a plan: its fields, how it is read
disk_plan_files.py     the plan's files and columns; writes and reads them
disk_snapshot.py       what a snapshot says of log dirs and their replicas
plan_disks_job.py      the job: reads a snapshot, plans broker by broker, writes the plan, verifies it
verify_disks.py        checks a plan against its snapshot, without any code of the planner
verify_disk_files.py   its rules about files, figures and the spread
disk_facts.py          what it reads of both
disk_texts.py          such a plan in words
disk_state.py          how far a move is, from what its broker shows (pure)
disk_queue.py          which moves begin next, and what has become of each (pure)
disk_throttle.py       Kafka's throttle of such copies: set, and taken away at the end, also after a kill
submit_disks.py        `submit` of such a plan
"""
