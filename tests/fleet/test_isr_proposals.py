"""Which ISR a leader proposes, and what it does with the answer."""

from uuid import UUID

import pytest

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.fleet.isr_proposals import IsrProposal, IsrProposals, alter_partition
from kafka_reassign_rpc.fleet.leader_replication import LeaderReplication
from kafka_reassign_rpc.fleet.replica_table import ReplicaTable, SimulatedReplica
from kafka_reassign_rpc.fleet.throttled_replicas import ThrottledReplicas
from kafka_reassign_rpc.protocol.frame_codec import decode_request, encode_request

from .messages import fetch

NAME = TopicPartition("t", 0)


class Leader:
    """Broker 1 leads t-0 (100 bytes, replicas 1 to 4) with a given ISR; broker 4 is dead."""

    def __init__(self, *isr: int) -> None:
        self.table = ReplicaTable()
        log = self.table.create(NAME, UUID(int=7), 100)
        self.replica = SimulatedReplica(NAME, log, 1, leader_epoch=5, partition_epoch=3, replicas=(1, 2, 3, 4), isr=isr)
        self.table.online[NAME] = self.replica
        self.leading = LeaderReplication(1, self.table, ThrottledReplicas(), None, 30.0, lambda *_: None, 0.0)
        self.leading.became_leader(self.replica, 0.0)
        self.keeper = IsrProposals(1, self.table, self.leading, lambda broker: broker != 4)

    def heard_of(self, broker: int, now: float = 0.0) -> None:
        self.leading.fetch(fetch(0, (0, 5, 100), replica_id=broker), now)
        self.keeper.followers_changed(NAME)

    def proposed(self, now: float = 0.0) -> list[tuple[int, ...]]:
        return [proposal.isr for proposal in self.keeper.take(10, now)]


def test_all_that_have_caught_up_join_in_one_proposal() -> None:
    leader = Leader(1)
    leader.heard_of(2)
    leader.heard_of(3)
    assert leader.proposed() == [(1, 2, 3)]
    assert leader.proposed() == []


def test_a_dead_broker_is_not_proposed() -> None:
    leader = Leader(1)
    leader.heard_of(4)
    assert leader.proposed() == []


def test_members_that_are_late_leave_and_the_leader_never_does() -> None:
    leader = Leader(1, 2, 3)
    leader.heard_of(2, now=20.0)
    assert leader.leading.late(31.0) == [NAME]
    leader.keeper.followers_changed(NAME)
    assert leader.proposed(31.0) == [(1, 2)]


def test_one_proposal_at_a_time_and_the_next_is_worked_out_from_the_answer() -> None:
    leader = Leader(1)
    leader.heard_of(2)
    [proposal] = leader.keeper.take(10, 0.0)
    leader.heard_of(3)
    assert leader.proposed() == []
    assert leader.keeper.resolve(proposal, 0, (1, 2), 5, 4)
    assert (leader.replica.isr, leader.replica.partition_epoch) == ((1, 2), 4)
    [again] = leader.keeper.take(10, 0.0)
    assert (again.isr, again.partition_epoch) == ((1, 2, 3), 4)


def test_an_answer_about_an_earlier_leader_epoch_changes_nothing() -> None:
    leader = Leader(1)
    leader.heard_of(2)
    [proposal] = leader.keeper.take(10, 0.0)
    leader.replica.leader_epoch = 6
    assert leader.keeper.resolve(proposal, 0, (1, 2), 5, 4)
    assert leader.replica.isr == (1,)


@pytest.mark.parametrize("error", [3, 42, 74, 95, 100])
def test_after_an_error_about_its_state_a_leader_waits_for_leader_and_isr(error: int) -> None:
    leader = Leader(1)
    leader.heard_of(2)
    [proposal] = leader.keeper.take(10, 0.0)
    assert leader.keeper.resolve(proposal, error, (), 0, 0)
    leader.heard_of(3)
    assert leader.proposed() == []
    leader.keeper.leader_and_isr_received(NAME)
    assert leader.proposed() == [(1, 2, 3)]


@pytest.mark.parametrize("error", [-1, 7, 41, 107])
def test_after_any_other_error_it_asks_again(error: int) -> None:
    leader = Leader(1)
    leader.heard_of(2)
    [proposal] = leader.keeper.take(10, 0.0)
    assert not leader.keeper.resolve(proposal, error, (), 0, 0)
    leader.keeper.retry([proposal])
    assert leader.proposed() == [(1, 2)]


@pytest.mark.parametrize("version", range(4))
def test_an_alter_partition_says_the_same_in_every_version(version: int) -> None:
    proposals = [
        IsrProposal(TopicPartition("t", index), UUID(int=7), leader_epoch=5, partition_epoch=index, isr=(1, 2))
        for index in range(2)
    ]
    frame = encode_request(alter_partition(1, 77, proposals, version), version=version, correlation_id=1, client_id="1")
    body = decode_request(frame[4:]).body
    assert (body.broker_id, body.broker_epoch) == (1, 77)
    [topic] = body.topics
    assert topic.topic_id == UUID(int=7) if version >= 2 else topic.topic_name == "t"
    for index, partition in enumerate(topic.partitions):
        isr = [m.broker_id for m in partition.new_isr_with_epochs] if version >= 3 else partition.new_isr
        assert (partition.partition_index, partition.leader_epoch) == (index, 5)
        assert (partition.partition_epoch, isr) == (index, [1, 2])
