"""The planner as a job: on Spark, or in this process alone.

plan_job.py, plan_input.py    the job; checks before Spark starts
chosen_topics.py      names and patterns of topics
snapshot_brokers.py, snapshot_rates.py    brokers, and throttles that stood on them
snapshot_to_plan.py   the survey of a snapshot and the rounds of a plan
chunk_callers.py      who calls what follows: this process, or tasks of Spark
partition_table.py, snapshot_chunks.py, snapshot_survey.py    partitions as columns; unusable rows
arriving.py           what moves in flight bring to brokers
chunk_steps.py        a step of a plan on one chunk; moves in start order
chunk_cells.py        chunks between steps, as Arrow
simulation_figures.py figures of the simulation

The verifier is written from docs/pipeline.md and shares no code with the planner, so that an error of the planner does
not check itself:

verify_job.py         the job
verify_facts.py       what they need to know besides rows; what is said of a broken one
verify_chunk.py       plan and snapshot of some partitions; rules of partitions and their files; sums
verify_rules.py       rules of single moves
verify_left_out.py    what is left out
verify_snapshot.py, verify_racks.py   what the snapshot says, and what plans must name; racks
verify_files.py       batch files as columns
verify_sums.py        what chunks add up to
verify_limits.py, verify_room.py      limits and room
verify_figures.py, verify_topics.py   figures of the summary
verify_claims.py      what it concludes from them
"""
