"""Keeps the history up to date: Structured Streaming over the directory that `export --events` fills. Spark's
checkpoint remembers the files that it has read, so a restarted run continues. Each new file renews all tables.
"""

from collections.abc import Callable

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
from kafka_reassign_rpc.pipeline.move_history.stream_checkpoint import checkpoint_directory
from kafka_reassign_rpc.pipeline.store_paths import StorePath, spark_uri

Update = Callable[[], None]


class HistoryStream:
    """A thread of Spark calls `update`, which makes the tables from all events."""

    def __init__(
        self, spark: SparkSession, events: StorePath, out: StorePath, update: Update, *, every: str = "5 seconds"
    ) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self._update = update
        self._events = events
        self._error: Exception | None = None
        stream = spark.readStream.schema(event_files.spark_schema()).parquet(spark_uri(events))
        # The checkpoint is not inside `out`: an update replaces that directory as a whole.
        self._query: StreamingQuery = (
            stream.writeStream.foreachBatch(self._on_new_events)
            .option("checkpointLocation", spark_uri(checkpoint_directory(out)))
            .trigger(processingTime=every)
            .start()
        )

    def _on_new_events(self, batch: DataFrame, _number: int) -> None:
        if batch.isEmpty():
            return
        try:
            event_files.check(self._events)
            self._update()
        except Exception as error:
            self._error = error
            raise

    def wait(self, seconds: float) -> bool:
        """Whether the stream has ended. Raises BadInput, JobFailed, and what `update` raises."""
        try:
            return bool(self._query.awaitTermination(seconds))
        except StreamingQueryException as error:
            raise self._cause_of(error) from None

    def stop(self) -> None:
        self._query.stop()

    def _cause_of(self, error: StreamingQueryException) -> Exception:
        if self._error is not None:
            return self._error
        try:
            event_files.check(self._events)
        except BadInput as found:
            return found
        first = str(error).strip().splitlines()[:2]
        return JobFailed(f"{self._events} cannot be followed: {' '.join(first)}")
