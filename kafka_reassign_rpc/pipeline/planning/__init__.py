"""The planner on Spark.

plan_job.py           the job: reads a snapshot, plans, writes the plan, verifies it
snapshot_chunks.py    reads a snapshot in chunks of whole topics, and names rows that cannot be used
rounds_on_spark.py    the planner's rounds as Spark jobs over these chunks
verify_job.py         checks a plan against its snapshot, without any code of the planner
"""
