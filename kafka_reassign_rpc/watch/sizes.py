"""What brokers tell of their log dirs, as a sample of progress takes it. What makes no sense is unknown."""

from collections.abc import Mapping
from enum import Enum

from kafka_reassign_rpc.client.log_dir_calls import BrokerLogDirs
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed, KafkaError, KafkaStorageError
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir
from kafka_reassign_rpc.support.counted import first_of, plural

UNKNOWN = -1
NAMED = 5


class Heard(Enum):
    """What a broker's last answer was worth."""

    ALL = "all"
    WRONG = "wrong"
    SILENT = "silent"
    REFUSED = "refused"


def sampled(answer: BrokerLogDirs | KafkaError | None) -> list[SampledLogDir] | None:
    """None: there is no answer. A size below 0 is none, and neither is that of a replica that is told twice with two
    sizes; a copy that moves to another log dir of its broker does not count."""
    if answer is None or isinstance(answer, KafkaError):
        return None
    held: dict[str, dict[str, dict[int, int]]] = {}
    for one in answer.replicas:
        if one.future:
            continue
        sizes = held.setdefault(one.log_dir, {}).setdefault(one.topic, {})
        size = max(UNKNOWN, one.size)
        sizes[one.partition] = size if sizes.get(one.partition, size) == size else UNKNOWN
    return [
        SampledLogDir(
            one.path,
            0 if one.online else KafkaStorageError.code,
            UNKNOWN if one.total_bytes is None else one.total_bytes,
            UNKNOWN if one.usable_bytes is None else one.usable_bytes,
            held.get(one.path, {}),
            one.cordoned,
        )
        for one in answer.log_dirs
    ]


def heard(answer: BrokerLogDirs | KafkaError | None) -> Heard:
    """None: no answer."""
    if isinstance(answer, ClusterAuthorizationFailed):
        return Heard.REFUSED
    if answer is None or isinstance(answer, KafkaError):
        return Heard.SILENT
    return Heard.WRONG if any(one.size < 0 for one in answer.replicas) else Heard.ALL


def lacking(found: Mapping[int, Heard]) -> str:
    """What is not known of sizes, and why; "": nothing."""
    of = {kind: sorted(broker for broker, one in found.items() if one is kind) for kind in Heard}
    if of[Heard.REFUSED]:
        return "Bytes, rates and remaining times are not seen: they need the operation DESCRIBE on the cluster"
    for kind, text in (
        (Heard.SILENT, "sizes are not known, there is no answer"),
        (Heard.WRONG, "sizes below 0 were told, and count as unknown"),
    ):
        if brokers := of[kind]:
            return f"Broker{plural(len(brokers))} {first_of(brokers, NAMED)}: {text}"
    return ""
