"""A plan on disk.

plan_directory.py  the directory of a plan of any kind, which appears once all of it is written
plan_writer.py     files and columns of a plan; writes them
plan_summary.py    summary.json: its fields, how it is read
plan_title.py      what the plan is for, in one line
plan_impact.py     what the plan does to partitions, counted and in words
why_not_better.py  what keeps brokers from their targets (pure)
time_texts.py      the plan's time, in words
move_list.py       the moves for reviewers: chosen, sorted, summed
move_texts.py      moves as text
batch_reader.py    what `submit` reads: the batches, in order
"""
