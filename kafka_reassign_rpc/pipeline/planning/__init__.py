"""The planner on Spark.

plan_job.py           the job: reads a snapshot, plans, writes the plan, verifies it
plan_input.py         the input of the job, and what can be checked of it before Spark starts
snapshot_brokers.py   reads the brokers of a snapshot
arriving_replicas.py  what moves have yet to copy to each broker
snapshot_chunks.py    reads a snapshot in chunks of whole topics, and names rows that cannot be used
rounds_on_spark.py    the planner's rounds as Spark jobs over these chunks
simulation_figures.py the simulation of a plan as figures of its summary
verify_job.py         checks a plan against its snapshot, without any code of the planner
plan_rules.py         the verifier's rules that concern one move
verify_room.py        the verifier's rule of the room of brokers
"""
