"""Many partitions at once, as columns: the same decisions as for one partition, in a tenth of the time. Needs numpy.

exact_sums.py          sums of whole numbers by code, exact however large
partition_columns.py   partitions as columns, and single rows of them as `PlannerPartition`
column_survey.py       the survey of columns
column_loads.py        what changes bring to brokers
topic_counts.py        replicas of each topic by broker
balance_scores.py      the best change of each partition for a more even cluster
column_proposals.py    proposals as columns: their sums, and which are accepted
balanced_columns.py    partitions that a balancing plan changes, from round to round
"""
