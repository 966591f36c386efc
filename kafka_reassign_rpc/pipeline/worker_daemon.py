"""PySpark's daemon of Python workers, for the many short tasks of jobs on this machine. PySpark's own workers each
import the planner, and after each task collect garbage among the objects of all modules, which takes longer than
most tasks of a small job. This daemon imports it once, and its forked workers skip those objects.
"""

import gc

from pyspark import daemon, worker  # noqa: F401 (each worker needs it)

from kafka_reassign_rpc.pipeline.planning import planning_rounds, snapshot_chunks  # noqa: F401 (so do the tasks)

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    daemon.manager()
