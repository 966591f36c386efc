"""Many partitions at once, as columns, through the rounds of a plan. Needs numpy.

exact_sums.py          sums of whole numbers
partition_columns.py   partitions as columns
column_survey.py       the survey
movable_rows.py        which rows rounds have to see
column_loads.py        what changes bring to brokers
topic_counts.py        replicas of each topic by broker
balance_scores.py      best changes for a more even cluster: what each gains for a copied byte
column_proposals.py    proposals: sums and acceptance
round_proposals.py     what a chunk proposes in a round, in columns and one by one
partition_chunk.py     partitions through the rounds of a plan
"""
