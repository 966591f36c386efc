"""What each broker is sent of a round: its pending requests, in their order."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from kafka_reassign_rpc.controller.commands.command import Round
from kafka_reassign_rpc.controller.commands.leadership_commands import ControlledShutdownCommand
from kafka_reassign_rpc.controller.duties.propagation import Propagation
from kafka_reassign_rpc.controller.duties.topic_deletion import TopicDeletions
from kafka_reassign_rpc.controller_channel import ChannelManager, Sender
from kafka_reassign_rpc.controller_channel.pending_requests import (
    DELETED_EPOCH,
    AllMetadata,
    LeaderAndIsr,
    LiveBrokers,
    Review,
    StopReplica,
    StopReplicaState,
    UpdateMetadata,
)
from kafka_reassign_rpc.core.leadership.broker_changes import adapted
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers import replay, topic_writes
from kafka_reassign_rpc.core.writers.facts import BrokersRegistered
from kafka_reassign_rpc.core.writers.replay import PartitionTransition, ReplayedChanges
from tests.controller_channel import request_messages
from tests.controller_channel.scripted_broker import ChannelReports
from tests.core.build import broker, cluster, learn, moving, not_moving

EVERYTHING = [AllMetadata(), LeaderAndIsr({}, is_complete=True), Review(None)]


class Told:
    """A cluster, and what its brokers have still to learn. Nothing is sent: no test here lets the event loop run."""

    def __init__(self, found: Cluster) -> None:
        self.cluster = found
        self.channels = ChannelManager(lambda: found, Sender(1000, 9, ()), ChannelReports())
        self.propagation = Propagation(found, self.channels, TopicDeletions(found, lambda _: None))

    def round(self, *changes: tuple[int, Partition], brokers: Iterable[int] | None = None) -> None:
        """A round that ends with these partitions of topic t, after which these brokers are registered."""
        if brokers is not None:
            learn(self.cluster, BrokersRegistered({id_: broker(id_) for id_ in brokers}))
        applied = ReplayedChanges()
        topic = self.cluster.topics["t"]
        for index, after in changes:
            applied.partitions.append(PartitionTransition("t", index, topic.partitions.get(index), after))
            topic_writes.put_partition(self.cluster, topic, index, after)
        self.propagate(applied)

    def propagate(self, applied: ReplayedChanges) -> None:
        for _ in self.propagation.round_replayed(applied):
            pass

    def appeared(self) -> None:
        """Others have created or changed the topic."""
        for _ in self.propagation.topics_appeared(["t"]):
            pass

    def delete(self) -> None:
        applied = ReplayedChanges()
        topic_writes.begin_deletion(self.cluster, "t")
        applied.deleting.append("t")
        self.propagate(applied)

    def by(self, broker_id: int) -> list[Any]:
        """The requests that the broker gets now, and answers."""
        pending, requests = self.channels._channels[broker_id].pending, []
        while (request := pending.take()) is not None:
            requests.append(request)
            self.answered(broker_id, request)
        return requests

    def answered(self, broker_id: int, request: Any) -> None:
        if isinstance(request, LeaderAndIsr):
            partitions = None if request.is_complete else request.partitions
            for _ in self.channels.leader_and_isr_answered(broker_id, partitions):
                pass


@pytest_asyncio.fixture
async def told() -> AsyncIterator[Told]:
    """Three brokers that have learned everything. Partition 0 is led by 1; 1 and 2 are its ISR, 3 lags behind."""
    made = Told(cluster(not_moving(1, 2, 3, isr=(1, 2)), live=(1, 2, 3)))
    made.round()
    assert [made.by(one) for one in (1, 2, 3)] == [EVERYTHING] * 3
    yield made
    await made.channels.close()


async def test_sv_4_brokers_learn_that_a_broker_is_alive_before_they_follow_it(told: Told) -> None:
    """A broker refuses to follow a leader that is not alive as far as it knows (ReplicaManager.makeFollowers)."""
    told.round((0, not_moving(1, 2, 3, isr=(2,), leader=-1, epoch=6)), brokers=(1, 3))
    told.by(1)
    told.round((0, not_moving(1, 2, 3, isr=(2,), leader=2, epoch=7)), brokers=(1, 2, 3))
    told.by(2)

    live, leader, metadata = told.by(1)
    assert (live, leader) == (LiveBrokers(), LeaderAndIsr({"t": {0: False}}))
    assert metadata == UpdateMetadata({"t": {0}}, {})


async def test_sv_4_a_broker_that_registers_again_learns_everything(told: Told) -> None:
    learn(told.cluster, BrokersRegistered(told.cluster.brokers | {2: broker(2, epoch=999)}))
    told.round((0, not_moving(1, 2, 3, isr=(1,), epoch=6)))

    assert told.by(2) == [AllMetadata(), LeaderAndIsr({"t": {0: False}}, is_complete=True), Review(None)]
    assert told.by(3)[0] == LiveBrokers()


async def test_sv_4_a_reload_connects_to_no_broker_before_the_next_round_is_durable(told: Told) -> None:
    """What was read names the bounced broker as the leader of what it may have lost."""
    bounced = told.channels._channels[1]
    learn(told.cluster, BrokersRegistered(told.cluster.brokers | {1: broker(1, epoch=999), 4: broker(4)}))
    for _ in told.propagation.topics_vanished([Topic("gone", None, {0: not_moving(1, 2)})]):
        pass
    assert told.channels._channels[1] is bounced
    assert told.channels._channels.keys() == {1, 2, 3}
    assert told.by(2) == []

    told.round((0, not_moving(1, 2, 3, isr=(2,), leader=2, epoch=6)))
    assert told.channels._channels[1] is not bounced
    assert told.channels._channels.keys() == {1, 2, 3, 4}


async def test_sv_4_a_broker_that_registers_again_stops_what_it_has_lost_in_between(told: Told) -> None:
    lost = not_moving(1, 2, epoch=7)
    told.round((0, not_moving(1, 2, 3, isr=(1, 2), epoch=6)), brokers=(1, 2))
    told.round((0, replace(lost, pending_deletion=(3,))))
    told.round((0, lost))
    told.round(brokers=(1, 2, 3))

    stop = StopReplica({TopicPartition("t", 0): StopReplicaState(7, delete=True)})
    assert told.by(3) == [*EVERYTHING[:2], stop, Review(None)]


async def test_sv_4_a_replica_that_a_move_drops_in_the_round_that_loses_its_broker_is_deleted_when_that_returns(
    told: Told,
) -> None:
    copied = replace(moving((1, 3), (1, 2)), isr=(1, 2), leader=1, leader_epoch=6)
    told.round((0, copied))
    learn(told.cluster, BrokersRegistered({id_: broker(id_) for id_ in (1, 2)}))
    ended = adapted(told.cluster, "t", copied)
    assert (ended.replicas, ended.pending_deletion) == ((1, 2), ())
    told.round((0, ended))
    told.round(brokers=(1, 2, 3))

    stop = StopReplica({TopicPartition("t", 0): StopReplicaState(ended.leader_epoch, delete=True)})
    assert told.by(3) == [*EVERYTHING[:2], stop, Review(None)]


async def test_sv_4_a_replica_that_no_move_has_dropped_is_stopped_and_its_log_stays(told: Told) -> None:
    """Also that of a broker that returns: what it holds is asked for after each registration."""
    told.round((0, not_moving(1, 2, epoch=6)))
    assert told.by(3)[0] == Review({"t": {0}})
    assert told.by(1) == [LeaderAndIsr({"t": {0: False}}), UpdateMetadata({"t": {0}}, {})]
    told.round(brokers=(1, 2))
    told.round((0, not_moving(1, epoch=7)))
    told.round(brokers=(1, 2, 3))
    assert told.by(3) == EVERYTHING


async def test_sv_4_every_broker_is_asked_what_it_holds_of_a_topic_that_others_have_changed(told: Told) -> None:
    topic_writes.put_partition(told.cluster, told.cluster.topics["t"], 0, not_moving(2, 3, epoch=6))
    told.appeared()
    assert [told.by(one)[0] for one in (1, 2, 3)] == [Review({"t": {0}})] * 3


async def test_sv_4_a_broker_that_had_to_forget_a_topic_and_left_is_sent_that_again(told: Told) -> None:
    told.channels.topic_deleted(Topic("gone", None, {0: not_moving(1, 2)}))
    told.round(brokers=(1, 2))
    told.round(brokers=(1, 2, 3))

    assert UpdateMetadata({}, {"gone": {0}}) in told.by(3)


@pytest.mark.parametrize("found_by", ["a watch", "a reload"])
async def test_hm_2_brokers_are_sent_nothing_about_a_topic_that_vanishes_neither_now_nor_when_they_return(
    told: Told, found_by: str
) -> None:
    """Not even to forget it: they would drop the offsets of its groups, and create it again for clients."""
    told.round((0, replace(not_moving(1, 2, 3, epoch=6), pending_deletion=(4,))))
    topic = told.cluster.topics["t"]
    topic_writes.remove_topic(told.cluster, "t")
    applied = ReplayedChanges()
    if found_by == "a watch":
        applied.deleted.append(topic)
        told.propagate(applied)
    else:
        for _ in told.propagation.topics_vanished([topic]):
            pass
    assert [told.by(one) for one in (1, 2, 3)] == [[], [], []]

    learn(told.cluster, BrokersRegistered({id_: broker(id_) for id_ in (1, 2)}))
    told.propagate(ReplayedChanges())
    learn(told.cluster, BrokersRegistered({id_: broker(id_) for id_ in (1, 2, 3)}))
    told.propagate(ReplayedChanges())
    assert [one for one in told.by(3) if isinstance(one, StopReplica) or getattr(one, "deleted", None)] == []


async def test_sv_4_a_stop_without_an_answer_is_repeated_to_a_broker_that_registers_again(told: Told) -> None:
    told.round((0, replace(not_moving(1, 2, epoch=7), pending_deletion=(3,))))
    sent = told.channels._channels[3].pending.take()
    told.channels._channels[3]._sending = sent
    told.round((0, not_moving(1, 2, epoch=7)), brokers=(1, 2))
    told.round(brokers=(1, 2, 3))

    stop = StopReplica({TopicPartition("t", 0): StopReplicaState(7, delete=True)})
    assert stop in told.by(3)


async def test_sv_4_after_a_reload_brokers_learn_everything_and_what_they_have_to_delete(told: Told) -> None:
    topic_writes.put_partition(
        told.cluster, told.cluster.topics["t"], 0, replace(not_moving(1, 2, epoch=8), pending_deletion=(3,))
    )
    for _ in told.propagation.everything():
        pass

    stop = StopReplica({TopicPartition("t", 0): StopReplicaState(8, delete=True)})
    assert [told.by(one) for one in (1, 2, 3)] == [
        EVERYTHING,
        EVERYTHING,
        [*EVERYTHING[:2], stop, Review(None)],
    ]


@pytest.mark.parametrize("review", ["waits", "is on its way", "is to be repeated", "was never made"])
async def test_sv_10_a_topic_in_deletion_is_deleted_where_a_broker_has_yet_to_say_what_it_holds_of_it(
    told: Told, review: str
) -> None:
    """Others have put it back without replica 3. The broker was to stop it, and no review asks for what is deleted."""
    topic, channel = told.cluster.topics["t"], told.channels._channels[3]
    topic_writes.put_partition(told.cluster, topic, 0, not_moving(1, 2))
    if review == "was never made":
        channel.pending.everything()
    else:
        told.appeared()
    if review in ("is on its way", "is to be repeated"):
        taken = channel.pending.take()
        assert isinstance(taken, Review)
        if review == "is on its way":
            channel._sending = taken
        else:
            channel.pending.restore(taken)
    told.delete()

    stop = StopReplicaState(DELETED_EPOCH, delete=True, deleted=topic.id)
    assert StopReplica({TopicPartition("t", 0): stop}) in told.by(3)


async def test_sv_10_a_deletion_asks_nothing_of_brokers_that_have_said_that_they_hold_nothing(told: Told) -> None:
    topic = told.cluster.topics["t"]
    topic_writes.put_partition(told.cluster, topic, 0, not_moving(1, 2))
    told.appeared()
    assert Review({"t": {0}}) in told.by(3)
    told.delete()

    assert [one for one in told.by(3) if isinstance(one, StopReplica)] == []


async def test_sv_10_the_log_of_a_replica_that_a_broker_has_stopped_goes_with_its_topic(told: Told) -> None:
    topic = told.cluster.topics["t"]
    topic_writes.put_partition(told.cluster, topic, 0, not_moving(1, 2))
    told.channels._channels[3]._reviews._stopped[TopicPartition("t", 0)] = 5
    told.delete()

    stop = StopReplicaState(DELETED_EPOCH, delete=True, deleted=topic.id)
    assert StopReplica({TopicPartition("t", 0): stop}) in told.by(3)


async def test_sv_10_a_topic_that_others_change_as_it_is_deleted_is_deleted_wherever_it_may_be(told: Told) -> None:
    """Its deletion begins before brokers are asked what they hold of it."""
    topic = told.cluster.topics["t"]
    topic_writes.put_partition(told.cluster, topic, 0, not_moving(1, 2))
    told.delete()
    told.appeared()

    stop = StopReplicaState(DELETED_EPOCH, delete=True, deleted=topic.id)
    assert StopReplica({TopicPartition("t", 0): stop}) in told.by(3)


@pytest.mark.parametrize("change", ["moved back", "deleted"])
async def test_sv_4_what_a_round_changes_while_brokers_learn_everything_takes_precedence(
    told: Told, change: str
) -> None:
    """Otherwise the stop of a replica that has left would take the place of its return, or of the topic's deletion."""
    topic, last = told.cluster.topics["t"], 3
    for index in range(last + 1):
        topic_writes.put_partition(told.cluster, topic, index, not_moving(1, 2))
    topic_writes.put_partition(told.cluster, topic, last, replace(not_moving(1, 2, epoch=8), pending_deletion=(3,)))
    told.by(3)
    steps = told.propagation.everything()
    next(steps)  # a pause before the last partition

    if change == "deleted":
        told.delete()
    else:
        told.round((last, not_moving(1, 2, 3, epoch=9)))
    for _ in steps:
        pass

    requests = told.by(3)
    stops = {name: stop for one in requests if isinstance(one, StopReplica) for name, stop in one.stops.items()}
    if change == "deleted":
        deleted = StopReplicaState(DELETED_EPOCH, delete=True, deleted=told.cluster.topics["t"].id)
        assert stops == {TopicPartition("t", index): deleted for index in range(last + 1)}, "3 was not asked yet"
    else:
        assert not stops
        assert LeaderAndIsr({"t": {last: True}}, is_complete=True) in requests


async def test_sv_4_the_replicas_of_a_topic_that_a_broker_has_created_are_new(told: Told) -> None:
    """Kafka's brokers write the znode of such a topic; the controller gives its partitions their first state."""
    without_state = Partition(replicas=(2, 3))
    topic_writes.put_partition(told.cluster, told.cluster.topics["t"], 1, without_state)
    first = replace(without_state, leader=2, isr=(2, 3), partition_epoch=0)
    told.round((1, first), (0, not_moving(1, 2, 3, isr=(1, 2, 3), epoch=6)))
    told.appeared()

    assert [told.by(one)[1] for one in (1, 2, 3)] == [
        LeaderAndIsr({"t": {0: False}}),
        LeaderAndIsr({"t": {1: True, 0: False}}),
        LeaderAndIsr({"t": {1: True, 0: False}}),
    ]


@pytest.mark.parametrize("news", ["the topic appeared", "a log dir failed", "the cluster was read again", "lost"])
async def test_sv_10_a_follower_that_waits_for_its_leader_is_new_whichever_request_names_its_replica_first(
    told: Told, news: str
) -> None:
    """A broker with a failed log dir refuses any other replica that it has no log of, until it is started again."""
    without_state = Partition(replicas=(1, 2, 3))
    topic_writes.put_partition(told.cluster, told.cluster.topics["t"], 1, without_state)
    on_its_way = None
    if news == "lost":
        for _ in told.propagation.everything():
            pass
        told.channels._channels[3].pending.take()
        on_its_way = told.channels._channels[3].pending.take()
    told.round((1, replace(without_state, leader=1, isr=(1, 2, 3), partition_epoch=0)))
    happens: dict[str, Callable[[], Iterator[None]]] = {
        "the topic appeared": lambda: told.propagation.topics_appeared(["t"]),
        "a log dir failed": lambda: told.propagation.log_dirs_failed([3]),
        "the cluster was read again": told.propagation.everything,
        "lost": lambda: iter(()),
    }
    for _ in happens[news]():
        pass
    if on_its_way is not None:
        told.channels._channels[3].pending.restore(on_its_way)

    requests = told.by(3)
    told.by(1)
    requests += told.by(3)
    starts = [one.partitions["t"] for one in requests if isinstance(one, LeaderAndIsr)]
    assert next(start[1] for start in starts if 1 in start) is True


async def test_sv_10_followers_of_a_topic_that_a_broker_has_created_wait_for_their_leader(told: Told) -> None:
    without_state = Partition(replicas=(1, 2, 3))
    topic_writes.put_partition(told.cluster, told.cluster.topics["t"], 1, without_state)
    told.round((1, replace(without_state, leader=1, isr=(1, 2, 3), partition_epoch=0)))
    told.appeared()

    assert told.by(3)[1] == LeaderAndIsr({"t": {0: False}})
    assert told.by(1)[1] == LeaderAndIsr({"t": {1: True, 0: False}})
    assert told.by(3)[0] == LeaderAndIsr({"t": {1: True}})


async def test_sv_4_brokers_learn_that_a_replica_outside_the_isr_is_offline_and_online_again(told: Told) -> None:
    told.round(brokers=(1, 2))
    assert told.by(1) == [LiveBrokers(), UpdateMetadata({"t": {0}}, {})]
    told.round(brokers=(1, 2, 3))
    assert told.by(1) == [LiveBrokers(), UpdateMetadata({"t": {0}}, {})]
    assert told.by(3) == EVERYTHING
    told.round(brokers=(1, 2, 3))
    assert told.by(1) == []


async def test_sv_4_a_broker_in_controlled_shutdown_stops_its_followers_and_keeps_their_logs(told: Told) -> None:
    """KafkaController.doControlledShutdown. The replica that led until now is made to follow instead."""
    topic = told.cluster.topics["t"]
    for index, before in enumerate((not_moving(1, 2), not_moving(2, 1), not_moving(2, 1, isr=(2,)), not_moving(1))):
        topic_writes.put_partition(told.cluster, topic, index, before)
    view = RoundView(told.cluster)
    work, command = Round(view, {}), ControlledShutdownCommand(1, told.cluster.brokers[1].epoch)
    for _ in (*command.learn(work.view.cluster), *command.decide(work)):
        pass
    applied = ReplayedChanges()
    for _ in replay.replay(told.cluster, view, replay.Durable({}, {}, {}, {}), 9, applied):
        pass
    told.propagate(applied)

    leader, metadata, stop = told.by(1)
    assert leader == LeaderAndIsr({"t": {0: False}})
    assert metadata == UpdateMetadata({"t": {0, 1, 2}}, {})
    names = [TopicPartition("t", index) for index in (1, 2)]
    assert stop == StopReplica(
        {names[0]: StopReplicaState(6, delete=False), names[1]: StopReplicaState(5, delete=False)}
    )
    assert told.by(2) == [LeaderAndIsr({"t": {0: False, 1: False}}), metadata]
    shown = request_messages.update_metadata(
        told.cluster, Sender(1000, 9, ()), told.cluster.brokers[2], {"t": [1]}, {}, 8
    )
    assert shown.topic_states[0].partition_states[0].offline_replicas == [1]


async def test_455_4_a_replica_that_leaves_the_assignment_in_a_controlled_shutdown_is_deleted(told: Told) -> None:
    applied = ReplayedChanges()
    before = told.cluster.topics["t"].partitions[0]
    after = replace(not_moving(1, 2, epoch=6), pending_deletion=(3,))
    applied.partitions.append(PartitionTransition("t", 0, before, after))
    applied.leaving[3] = [TopicPartition("t", 0)]
    topic_writes.put_partition(told.cluster, told.cluster.topics["t"], 0, after)
    told.propagate(applied)

    assert told.by(3)[-1] == StopReplica({TopicPartition("t", 0): StopReplicaState(6, delete=True)})


async def test_sv_3_brokers_learn_of_the_broker_with_the_servers_id_and_not_of_the_server(told: Told) -> None:
    def live(sender: int) -> list[int]:
        body = request_messages.update_metadata(told.cluster, Sender(sender, 9, ()), told.cluster.brokers[1], {}, {}, 8)
        return [one.id for one in body.live_brokers]

    assert live(1000) == [1, 2, 3, 1000]
    assert live(3) == [1, 2, 3]
