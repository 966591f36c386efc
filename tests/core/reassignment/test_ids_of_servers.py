"""Targets with the id of a server: refused, whether or not a broker has or had the id (hm-4)."""

import pytest

from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment
from kafka_reassign_rpc.core.reassignment.alter import alter
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.partition import MoveTerms, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.core.build import TOPIC, not_moving, view

SERVER = 1000
NAME = TopicPartition(TOPIC, 0)


def with_server(partition: Partition, *live: int) -> RoundView:
    made = view(partition, live=live or (1, 2, 3))
    made.cluster.servers = frozenset((SERVER,))
    return made


@pytest.mark.parametrize("waits_for_brokers", [False, True])
@pytest.mark.parametrize("partition", [not_moving(1, 2), not_moving(1, SERVER, isr=(1,))], ids=["added", "kept"])
def test_hm_4_a_target_with_the_id_of_a_server_is_refused(partition: Partition, waits_for_brokers: bool) -> None:
    error, changes = alter(
        with_server(partition),
        NAME,
        MoveTerms((SERVER, 1)),
        adding_must_live=not waits_for_brokers,
    )
    assert type(error) is InvalidReplicaAssignment
    assert "1000" in str(error)
    assert "reassignment server" in str(error)
    assert changes == []


def test_hm_4_a_broker_with_the_id_that_is_registered_or_in_sync_is_a_broker() -> None:
    here = with_server(not_moving(1, 2), 1, 2, SERVER)
    assert alter(here, NAME, MoveTerms((1, SERVER)))[0] is None
    down = with_server(not_moving(1, SERVER))
    assert alter(down, NAME, MoveTerms((SERVER, 1)))[0] is None
    assert alter(down, NAME, MoveTerms((1,)))[0] is None
