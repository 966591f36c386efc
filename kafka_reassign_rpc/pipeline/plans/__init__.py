"""A plan on disk.

plan_writer.py     files and columns of a plan; writes it
plan_summary.py    summary.json: its fields, how it is read
batch_reader.py    what `submit` reads: the batches, in order
"""
