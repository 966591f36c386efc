"""Brokers (inter.broker.protocol.version < 2.7) write states while the controller decides: what they wrote counts."""

from kafka_reassign_rpc.controller.commands.cluster_commands import StatesRead
from kafka_reassign_rpc.controller.commands.command import Round
from kafka_reassign_rpc.core.round.replay import LoadedState
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import TopicPartition
from tests.core.build import TOPIC, cluster, moving

NAME = TopicPartition(TOPIC, 0)


async def test_sv_10_a_move_that_a_leader_has_brought_in_sync_ends_although_its_round_is_decided_twice() -> None:
    here = cluster(moving((1, 2), (1, 3)))
    told: list[TopicPartition] = []
    command = StatesRead({NAME: LoadedState(1, 6, (1, 2, 3), 1, 13)}, told.extend)
    for refused in ((), ("other",)):  # the first decision does not fit into the znode of another topic
        view = RoundView(here, refused)
        for _ in command.decide(Round(view, {})):
            pass
        assert view.partitions[NAME].value.replicas == (1, 3)
    command.durable()
    assert told == [NAME]
