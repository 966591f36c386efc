"""PySpark's daemon of Python workers, for the many short tasks of jobs on this machine.

After each task a worker collects garbage among the objects of all its modules, which takes longer than most tasks of a
small job, and each worker imports the planner again. This daemon imports it once, and its forked workers skip those
objects.
"""

import gc

from pyspark import daemon, worker  # noqa: F401 (each worker needs it)

from kafka_reassign_rpc.pipeline.planning import chunks_on_spark, rounds_on_spark  # noqa: F401 (so do the tasks)

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    daemon.manager()
