"""The planner as a job: on Spark, or in this process alone.

plan_job.py, plan_input.py    the job; its input, checked before Spark starts
plan_figures.py       its figures, for summary.json
chosen_topics.py      names and patterns of topics
planning_rounds.py    the rounds of a plan, and a step of one on one chunk; moves in start order
chunk_callers.py      who calls what follows: this process, or tasks of Spark; chunks between steps, as Arrow
snapshot_chunks.py, snapshot_survey.py    partitions as columns; unusable rows; what moves in flight bring to brokers

The verifier is written from docs/pipeline.md and shares no code with the planner, so that an error of the planner does
not check itself:

verify_job.py         the job
verify_facts.py       what they need to know besides rows; what is said of a broken one
verify_chunk.py       plan and snapshot of some partitions; rules of partitions and their files; sums
verify_rules.py       rules of single moves
verify_left_out.py    what is left out
verify_snapshot.py    what the snapshot says, and what plans must name; racks
verify_files.py       batch files as columns
verify_sums.py        what chunks add up to
verify_room.py        room
verify_figures.py     limits, figures of the summary, and what it concludes from them
verify_time.py        its times
verify_texts.py       its texts, made again word by word: why each partition moves; its notes
"""
