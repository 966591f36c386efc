"""The planner as a job: in this process, or on Spark for a huge snapshot.

plan_job.py, plan_input.py    the job; checks before Spark starts
chosen_topics.py      names and patterns of topics
snapshot_brokers.py, snapshot_rates.py    brokers, and throttles that stood on them
snapshot_to_plan.py, snapshot_on_spark.py, snapshot_in_memory.py    what the job needs; two readers
snapshot_columns.py   partitions as columns
snapshot_chunks.py    partitions in chunks; unusable rows
chunks_on_spark.py, rounds_on_spark.py    the same on Spark
within_time.py        leaves out what takes too long
simulation_figures.py figures of the simulation

The verifier is written from docs/pipeline.md and shares no code with the planner, so that an error of the planner does
not check itself:

verify_job.py         the job
verify_here.py, verify_on_spark.py    what it reads
verify_arrays.py, verify_files.py    lists of brokers, and batch files, as columns
verify_concerned.py   what a plan must name
verify_plain_moves.py moves that certainly keep all rules
verify_rules.py       the rules about any other move
verify_rows.py        its entries in batches and rollback; sums
verify_limits.py, verify_room.py, verify_left_out.py    limits, room, what is left out
verify_figures.py, verify_topics.py, verify_sums.py    figures of the summary
verify_claims.py      what it concludes from them
"""
