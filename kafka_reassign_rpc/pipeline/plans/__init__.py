"""A plan on disk.

plan_directory.py  a plan of any kind as a directory
plan_writer.py     files and columns
plan_summary.py    summary.json
plan_impact.py     in words: what it does (what it is for: `reports.plan_report`)
why_not_better.py  what keeps brokers from their targets (pure)
move_list.py, move_texts.py    the moves for reviewers, and as text, with times
batch_reader.py    what `submit` reads
"""
