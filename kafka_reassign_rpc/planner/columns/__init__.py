"""Many partitions at once, as columns, through the rounds of a plan. Needs numpy.

partition_columns.py   partitions as columns, exact sums of them; which of them rounds have to see; the survey
balance_scores.py      best changes for a more even cluster: what each gains for a copied byte
topic_spread.py        an even spread of each topic
column_proposals.py    what a chunk proposes in a round, in columns and one by one: sums and acceptance
partition_chunk.py     partitions through the rounds of a plan; copies that it can do without
"""
