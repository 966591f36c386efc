"""The state log as it was written, read from its first record on while the campaign runs."""

import time
from pathlib import Path

from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.kraft import round_records
from kafka_reassign_rpc.kraft.state_log.log_format import Kind
from kafka_reassign_rpc.kraft.state_log.log_reading import LogRecord
from kafka_reassign_rpc.kraft.state_log.state_log import StateLog

from .intent_checks import Round


class LogAudit:
    """`rounds`: all that were committed. `claims`: when, by the clock of brokers, in seconds of the epoch. `copy`: a
    file that gets a line for each record."""

    def __init__(self, bootstrap: str, topic: str, copy: Path) -> None:
        self._settings = client_settings({"bootstrap_servers": bootstrap, "client_id": "audit"})
        self._topic = topic
        self._copy = copy
        self.rounds: list[Round] = []
        self.claims: list[float] = []
        self.position = 0
        self.read_at = 0.0
        """When something was read last."""

    async def run(self) -> None:
        """Until it is cancelled. Raises LogError."""
        log = StateLog(self._settings, topic=self._topic)
        await log.open(to_read=True)
        copy = self._copy.open("w", buffering=1)
        try:
            async for some in log.read():
                for one in some:
                    self.position = one.next_offset
                    copy.write(f"{one}\n")
                    if isinstance(one, LogRecord):
                        self._take(one)
                self.read_at = time.time()
        finally:
            copy.close()
            await log.close()

    def _take(self, one: LogRecord) -> None:
        if one.kind is Kind.CLAIM:
            self.claims.append(one.timestamp_ms / 1000)
        elif one.kind is Kind.COMMIT:
            self.rounds += [Round(one.offset, round_records.decode(payload)) for payload in one.payloads]
