"""The pipeline: snapshots and event logs of clusters as Parquet, and the jobs that plan, submit, audit and report.

snapshots/       a cluster at one time: columns, export, reading
event_logs/      the events of servers: columns, export
planning/        the jobs `plan` and `plan verify`, here or on Spark; the planner itself is `kafka_reassign_rpc.planner`
plans/           a plan on disk: summary, moves, batches, rollback
submission/      `submit`: how a plan is carried out, and when that stops
disks/           plans between the log dirs of a broker: `plan disks`, and `submit` of them
auditing/        `audit`: skew, rack violations and changed replication factors in snapshots
move_history/    `history`: how long moves waited and took, from the event logs
reports/         HTML pages, SVG plots, tables as text
executor_probe.py, executor_look.py, executor_packages.py    what executors of a remote Spark master get, and lack
class_archive.py, prepare_spark.py    Spark's classes in a file, so that jobs start sooner
worker_daemon.py    Spark's daemon for Python, for the many short tasks of jobs on this machine
store_paths.py   where jobs read and write: local paths and URIs
parquet_files.py, output_directory.py, spark_session.py, spark_master.py, job_errors.py    shared by several of them
jvm_garbage.py   the end of Spark's JVM, without a traceback of py4j

Modules import heavy libraries (pyspark, pyarrow, matplotlib) where they need them; this package never does.
"""
