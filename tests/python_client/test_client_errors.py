"""kr-5: an error that people read has Kafka's name."""

from kafka_reassign_rpc.client.client_errors import name_of
from tests.tables import for_each


@for_each(
    "code, name",
    [
        (41, "NOT_CONTROLLER (41)"),
        (-1, "UNKNOWN_SERVER_ERROR (-1)"),
        (19, "NOT_ENOUGH_REPLICAS (19)"),
        (12_345, "error 12345"),
    ],
)
def test_kr_5_a_code_that_no_class_of_ours_has_is_named_as_kafka_does_and_an_unknown_one_is_a_number(
    code: int, name: str
) -> None:
    assert name_of(code) == name
