"""Kafka's throttle of copies between log dirs. The controller does not know such copies, so no lease ends it.
disk-throttle.json in the plan's directory is written first and keeps each broker's former value, so a run after a
kill restores the same.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import msgspec

from kafka_reassign_rpc.client import KafkaError
from kafka_reassign_rpc.client.config_calls import BROKER, OF_BROKER
from kafka_reassign_rpc.core.kafka_errors import RequestTimedOut
from kafka_reassign_rpc.core.throttling.replication_throttles import LOG_DIRS_RATE
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.store_paths import NO_JSON, StorePath, write_file
from kafka_reassign_rpc.pipeline.submission.patient_cluster import PatientCluster

FILE = "disk-throttle.json"


class _Former(msgspec.Struct):
    """`ours`: rates that submit has set, as brokers show them. `before`: former values by broker; None: none."""

    ours: list[str] = []
    before: dict[int, str | None] = {}


@dataclass
class DiskThrottle:
    """The methods raise BadInput for an unreadable file, and KafkaError."""

    cluster: PatientCluster
    plan: StorePath

    @property
    def stands(self) -> bool:
        """A broker may have the throttle."""
        return bool(self._read().before)

    def set(self, brokers: Iterable[int], rate: int) -> dict[int, KafkaError]:
        """Waits until brokers show it. Returns those where it could not be set, or that do not show it in time."""
        known, wanted = self._read(), sorted(brokers)
        shown = self._shown(broker for broker in wanted if broker not in known.before)
        failed = {broker: one for broker, one in shown.items() if isinstance(one, KafkaError)}
        known.before |= {broker: one for broker, one in shown.items() if not isinstance(one, KafkaError)}
        if str(rate) not in known.ours:
            known.ours.append(str(rate))
        self._write(known)
        able = [broker for broker in wanted if broker not in failed]
        refused = failed | self._change(dict.fromkeys(able, str(rate)))
        return refused | self._late([broker for broker in able if broker not in refused], str(rate))

    def _late(self, brokers: Collection[int], rate: str) -> dict[int, KafkaError]:
        """Brokers learn of a config after its change is answered."""
        within = self.cluster.intervals.mismatch
        shown = self.cluster.until(lambda: self._shown(brokers), lambda found: set(found.values()) <= {rate}, within)
        late = RequestTimedOut(f"The broker does not show it after {within:g} s.")
        return {broker: late for broker in brokers if shown.get(broker) != rate}

    def restore(self, but: Collection[int] = ()) -> None:
        """Names brokers where that fails, or where somebody has set another rate. Brokers of `but` may still copy, and
        keep the throttle until the next run.
        """
        known, line = self._read(), self.cluster.output.line
        kept = {broker: value for broker, value in known.before.items() if broker in but}
        known.before = {broker: value for broker, value in known.before.items() if broker not in but}
        if not known.before:
            return
        shown = self._shown(known.before)
        failed = {broker: one.message for broker, one in shown.items() if isinstance(one, KafkaError)}
        ours = {broker: value for broker, value in known.before.items() if shown[broker] in known.ours}
        for broker in sorted(known.before.keys() - failed.keys() - ours.keys()):
            if shown[broker] != known.before[broker]:  # else it never got ours
                line(f"broker {broker}: its {LOG_DIRS_RATE} was changed by somebody else meanwhile, and stays as it is")
        failed |= {broker: error.message for broker, error in self._change(ours).items()}
        for broker, why in sorted(failed.items()):
            line(f"broker {broker} may keep the throttle {LOG_DIRS_RATE}: {why}. Run submit again, or delete it there")
        known.before = kept | {broker: known.before[broker] for broker in failed}
        self._write(known)

    def _shown(self, brokers: Iterable[int]) -> dict[int, str | KafkaError | None]:
        """The own dynamic config of each broker."""
        answers = self.cluster.client.describe_broker_configs(list(brokers))
        found: dict[int, str | KafkaError | None] = {}
        for broker, one in answers.items():
            if isinstance(one, KafkaError):
                found[broker] = one
            else:
                own = (entry.value for entry in one if (entry.name, entry.source) == (LOG_DIRS_RATE, OF_BROKER))
                found[broker] = next(own, None)
        return found

    def _change(self, values: dict[int, str | None]) -> dict[int, KafkaError]:
        changes = {(BROKER, str(broker)): {LOG_DIRS_RATE: value} for broker, value in values.items()}
        results = self.cluster.client.change_configs(changes)
        return {int(name): error for (_, name), error in results.items() if error is not None}

    def _read(self) -> _Former:
        file = self.plan / FILE
        try:
            return msgspec.json.decode(file.read_bytes(), type=_Former)
        except FileNotFoundError:
            return _Former([], {})
        except (OSError, *NO_JSON) as error:
            raise BadInput(
                f"{file}: {error}; set {LOG_DIRS_RATE} of the plan's brokers by hand, and remove it"
            ) from None

    def _write(self, known: _Former) -> None:
        if known.before:
            write_file(self.plan / FILE, msgspec.json.encode(known), sync=True)
        else:
            (self.plan / FILE).unlink(missing_ok=True)
