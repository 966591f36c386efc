"""The planner as a job: in this process, or on Spark for a huge snapshot and on other machines.

plan_job.py, plan_input.py    the job, its input and its checks before Spark starts
chosen_topics.py      which topics names, patterns and exclusions mean
snapshot_brokers.py, snapshot_rates.py    brokers, and the throttles that stood on them
snapshot_to_plan.py   what the job needs of a snapshot, and its two readers:
snapshot_on_spark.py, snapshot_in_memory.py
snapshot_columns.py   partitions as columns
snapshot_chunks.py    partitions in chunks of whole topics; unusable rows
chunks_on_spark.py, rounds_on_spark.py    these chunks, and the planner's rounds over them, on Spark
within_time.py        leaves out what cannot be done in a given time
simulation_figures.py the simulation as figures of the summary

The verifier checks a plan against its snapshot. It is written from docs/pipeline.md and shares no code with the
planner, so that an error of the planner does not check itself:

verify_job.py         the job
verify_here.py, verify_on_spark.py    what it reads, in this process or by Spark
verify_arrays.py, verify_files.py    lists of brokers, and batch files, as columns
verify_concerned.py   which partitions a plan must name; sums over the snapshot
verify_plain_moves.py moves that certainly keep all rules, as columns
verify_rows.py, verify_rules.py    all other moves, one by one
verify_limits.py, verify_room.py, verify_left_out.py    limits, room, partitions left out
verify_figures.py, verify_topics.py, verify_sums.py    whether the figures of the summary follow
"""
