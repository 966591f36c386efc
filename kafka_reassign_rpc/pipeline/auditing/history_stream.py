"""The history that keeps up with the events: Structured Streaming over the directory that `export --events` fills.

Spark remembers in the checkpoint which files it has seen, so a run that is started again goes on where the last one
ended and does nothing where nothing is new. Each time something is, the tables are made anew and put in place at once.
"""

from collections.abc import Callable
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
from kafka_reassign_rpc.pipeline.snapshots import export_events

CHECKPOINT = ".checkpoint"

Update = Callable[[], None]


class HistoryStream:
    """One run. `update` makes the tables of all events that there are; it is called on a thread of Spark's."""

    def __init__(
        self, spark: SparkSession, events: Path, out: Path, update: Update, *, every: str = "5 seconds"
    ) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self._update = update
        self._events = events
        self._error: Exception | None = None
        stream = spark.readStream.schema(export_events.spark_schema()).parquet(str(events))
        # The checkpoint stands beside the tables and not among them: these are replaced as a whole.
        self._query: StreamingQuery = (
            stream.writeStream.foreachBatch(self._batch)
            .option("checkpointLocation", str(checkpoint(out)))
            .trigger(processingTime=every)
            .start()
        )

    def _batch(self, batch: DataFrame, _number: int) -> None:
        if batch.isEmpty():
            return
        try:
            export_events.check(self._events)
            self._update()
        except Exception as error:
            self._error = error
            raise

    def wait(self, seconds: float) -> bool:
        """Whether it has ended. Raises BadInput, JobFailed, whatever `update` raises."""
        try:
            return bool(self._query.awaitTermination(seconds))
        except StreamingQueryException as error:
            raise self._why(error) from None

    def catch_up(self) -> None:
        """Until everything that is there now is in the tables. Raises as `wait` does."""
        try:
            self._query.processAllAvailable()
        except StreamingQueryException as error:
            raise self._why(error) from None

    def stop(self) -> None:
        self._query.stop()

    def _why(self, error: StreamingQueryException) -> Exception:
        if self._error is not None:
            return self._error
        try:
            export_events.check(self._events)
        except BadInput as found:
            return found
        first = str(error).strip().splitlines()[:2]
        return JobFailed(f"{self._events} cannot be followed: {' '.join(first)}")


def checkpoint(out: Path) -> Path:
    """Where Spark keeps what it has seen, for tables in `out`."""
    return out.with_name(f"{out.name}{CHECKPOINT}")
