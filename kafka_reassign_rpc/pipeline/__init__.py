"""Snapshots and event logs of clusters as Parquet, and the jobs that plan, submit, audit and report.

snapshots/       a cluster at one time
event_logs/      the events of servers
planning/        `plan` and `plan verify`, here or on Spark; the planner is `kafka_reassign_rpc.planner`
plans/           a plan on disk
submission/      `submit`
disks/           plans between the log dirs of a broker
auditing/        `audit`
move_history/    `history`
reports/         HTML pages, plots, tables as text
executor_probe.py, executor_look.py    what executors of a remote master lack; what they get: `spark_session`
class_archive.py, prepare_spark.py    Spark's classes in a file, so that jobs start sooner
topic_pieces.py  who calls functions of what tables say of the same partitions: this process, or tasks of Spark; how
                 large a piece of a topic is (PIECE_PARTITIONS)
broker_lists.py  lists of brokers as arrays
arrow_tasks.py   functions of Arrow batches in tasks of Spark, and what they answer; Python's search for garbage waits
                 until the end
worker_daemon.py    Spark's daemon for Python, for short tasks on this machine
store_paths.py   where jobs read and write
parquet_files.py, output_directory.py, spark_session.py, spark_master.py, job_errors.py    shared by several

Modules import heavy libraries (pyspark, pyarrow, matplotlib) where they need them; this package never does.
"""
