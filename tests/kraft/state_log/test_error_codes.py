"""kr-5: the codes of errors by which the state log decides whether to ask again are Kafka's own."""

import pytest
from kafka import errors

from kafka_reassign_rpc.kraft.state_log.leader_calls import NOT_LEADER, WAIT

FOR_ANOTHER_BROKER = {
    errors.UnknownTopicOrPartitionError,
    errors.LeaderNotAvailableError,
    errors.NotLeaderForPartitionError,
    errors.ReplicaNotAvailableError,
    errors.FencedLeaderEpochError,
    errors.UnknownLeaderEpochError,
    errors.UnknownTopicIdError,
    errors.InconsistentTopicIdError,
}


def test_kr_5_only_errors_of_a_broker_that_does_not_lead_send_a_request_to_another() -> None:
    assert {one.errno for one in FOR_ANOTHER_BROKER} == NOT_LEADER


@pytest.mark.parametrize("error", [errors.UnsupportedCompressionTypeError, errors.InvalidRequiredAcksError])
def test_kr_5_an_error_that_asking_again_does_not_cure_is_none_to_wait_for(error: type[errors.KafkaError]) -> None:
    assert error.errno not in NOT_LEADER | WAIT
