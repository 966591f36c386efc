"""The errors' codes and whether clients may try again, as in Kafka's own clients."""

from kafka import errors as errors_of_kafka_python

from kafka_reassign_rpc.core import kafka_errors
from kafka_reassign_rpc.core.kafka_errors import KafkaError

RETRIABLE_IN_KAFKA = frozenset(
    (2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83, 84, 88, 89, 100, 103, 106)
)
"""Codes of org.apache.kafka.common.protocol.Errors (3.9) whose exception is a RetriableException."""


OTHER_NAMES = {
    "UnknownServer": "UnknownError",
    "NotLeaderOrFollower": "NotLeaderForPartitionError",
    "InvalidReplicaAssignment": "InvalidReplicationAssignmentError",
    "InvalidConfig": "InvalidConfigurationError",
}
"""What kafka-python calls them."""


def known() -> list[type[KafkaError]]:
    return [
        error
        for error in vars(kafka_errors).values()
        if isinstance(error, type) and issubclass(error, KafkaError) and error is not KafkaError
    ]


def test_455_1_each_error_has_the_code_that_kafkas_clients_know_it_by() -> None:
    codes = {error.__name__.removesuffix("Error"): error.code for error in known()}
    theirs = {name: getattr(errors_of_kafka_python, OTHER_NAMES.get(name, f"{name}Error")).errno for name in codes}
    assert codes == theirs


def test_455_1_exactly_the_errors_that_kafkas_clients_repeat_are_retriable() -> None:
    found = known()
    assert {3, 41, 56} <= {error.code for error in found}
    assert {error.code: error.retriable for error in found} == {
        error.code: error.code in RETRIABLE_IN_KAFKA for error in found
    }
    assert len({error.code for error in found}) == len(found)
