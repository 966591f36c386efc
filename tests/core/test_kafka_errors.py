"""The errors' codes and whether clients may try again, as in Kafka's own clients."""

from kafka_reassign_rpc.core import kafka_errors
from kafka_reassign_rpc.core.kafka_errors import KafkaError

RETRIABLE_IN_KAFKA = frozenset(
    (2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83, 84, 88, 89, 100, 103, 106)
)
"""Codes of org.apache.kafka.common.protocol.Errors (3.9) whose exception is a RetriableException."""


def test_455_1_exactly_the_errors_that_kafkas_clients_repeat_are_retriable() -> None:
    known = [
        error
        for error in vars(kafka_errors).values()
        if isinstance(error, type) and issubclass(error, KafkaError) and error is not KafkaError
    ]
    assert {3, 41, 56} <= {error.code for error in known}
    assert {error.code: error.retriable for error in known} == {
        error.code: error.code in RETRIABLE_IN_KAFKA for error in known
    }
    assert len({error.code for error in known}) == len(known)
