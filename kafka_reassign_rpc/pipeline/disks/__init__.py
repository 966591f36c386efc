"""Plans that move replicas between the log dirs of a broker: made, checked, listed.

disk_plan.py           summary.json of such a plan: its fields, how it is read
disk_plan_files.py     the plan's files and columns; writes and reads them
disk_snapshot.py       what a snapshot says of log dirs and their replicas
plan_disks_job.py      the job: reads a snapshot, plans broker by broker, writes the plan, verifies it
verify_disks.py        checks a plan against its snapshot, without any code of the planner
verify_disk_files.py   its rules about files, figures and the spread
disk_facts.py          what it reads of both
disk_texts.py          such a plan in words
"""
