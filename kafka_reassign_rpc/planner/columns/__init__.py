"""Many partitions at once, as columns: the same decisions as for one, in a tenth of the time. Needs numpy.

exact_sums.py          sums of whole numbers
partition_columns.py   partitions as columns
column_survey.py       the survey
column_loads.py        what changes bring to brokers
topic_counts.py        replicas of each topic by broker
balance_scores.py      best changes for a more even cluster
column_proposals.py    proposals: sums and acceptance
balanced_columns.py    partitions that a balancing plan changes
"""
