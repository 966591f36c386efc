"""What brokers say of themselves and no round decides becomes an event at once."""

from unittest.mock import Mock

import pytest

from kafka_reassign_rpc.controller.duties.reported_by_brokers import ReportedByBrokers
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


def some(topic: str, count: int) -> list[TopicPartition]:
    return [TopicPartition(topic, index) for index in range(count)]


@pytest.mark.parametrize(
    ("stopped", "logs", "told"),
    [
        (0, 0, {}),
        (1, 0, {catalogue.BROKER_REPLICAS_STOPPED: (1, "s-0")}),
        (0, 5, {catalogue.BROKER_LOGS_LEFT: (5, "l-0, l-1, l-2, l-3, l-4")}),
        (
            6,
            1007,
            {
                catalogue.BROKER_REPLICAS_STOPPED: (6, "s-0, s-1, s-2, s-3, s-4 and 1 more"),
                catalogue.BROKER_LOGS_LEFT: (1007, "l-0, l-1, l-2, l-3, l-4 and 1002 more"),
            },
        ),
    ],
)
def test_hm_2_what_a_broker_has_stopped_and_the_logs_that_stay_are_events_with_their_number_and_the_first_five(
    stopped: int, logs: int, told: dict[str, tuple[int, str]]
) -> None:
    events: list[Event] = []
    reports = ReportedByBrokers(Mock(), Mock(), Mock(), Mock(), Mock(), Mock(), Mock(), events.extend)
    reports.unassigned_found(7, some("s", stopped), some("l", logs))
    assert events == [Event(name, broker=7, count=count, reason=reason) for name, (count, reason) in told.items()]
