"""The planner as a job: on Spark, or in this process alone.

plan_job.py, plan_input.py    the job; checks before Spark starts
chosen_topics.py      names and patterns of topics
snapshot_brokers.py, snapshot_rates.py    brokers, and throttles that stood on them
snapshot_to_plan.py   the survey of a snapshot and the rounds of a plan
chunk_callers.py      who calls what follows: this process, or tasks of Spark
partition_table.py, snapshot_chunks.py, snapshot_survey.py    partitions as columns; unusable rows
arriving.py           what moves in flight bring to brokers
chunk_steps.py        a step of a plan on one chunk; moves in start order
chunk_cells.py, arrow_tasks.py    chunks between steps, as Arrow; tasks that get and answer it
without_cycles.py     Python's search for garbage waits until the end
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
