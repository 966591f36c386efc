"""The planner as a job: in this process, or on Spark for a huge snapshot and on other machines.

plan_job.py           the job: reads a snapshot, plans, writes the plan, verifies it
plan_input.py         the input of the job, and its checks before Spark starts
chosen_topics.py      which topics names, patterns and exclusions mean
snapshot_brokers.py   reads the brokers of a snapshot
snapshot_rates.py     throttles that stood on brokers, and notes on those stricter than the plan's
snapshot_to_plan.py   what the job needs of a snapshot: partitions, what is on its way, rounds, the moves found
snapshot_on_spark.py  a snapshot that Spark reads
snapshot_in_memory.py a snapshot in this process, and the planner's rounds over it
snapshot_columns.py   its partitions as columns, and which of them are objects
snapshot_chunks.py    cuts partitions into chunks of whole topics, and names unusable rows
chunks_on_spark.py    reads these chunks on Spark
rounds_on_spark.py    the planner's rounds as Spark jobs over these chunks
within_time.py        leaves out what cannot be done in a given time
simulation_figures.py the simulation of a plan as figures of its summary
verify_job.py         checks a plan against its snapshot, without any code of the planner
verify_here.py        what it reads of them, in this process, as columns
verify_on_spark.py    the same by Spark
verify_arrays.py      lists of brokers as arrays
verify_concerned.py   which partitions a plan must name, and sums over the snapshot, as columns
verify_plain_moves.py moves that certainly keep all rules, as columns, and their sums
verify_files.py       the batch files and rollbacks as columns
verify_rows.py        what it finds in the rows of partitions: broken rules, and sums
verify_rules.py       the verifier's rules about one move
verify_limits.py      its limits of batches and brokers
verify_room.py        its rule of the room of brokers
verify_left_out.py    its rules of partitions that a plan leaves out
verify_figures.py     whether the figures of the summary follow
verify_topics.py      whether its figures of topics follow
verify_sums.py        sums over the snapshot that they are compared with
"""
