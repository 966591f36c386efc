"""What a look at a KRaft cluster has seen of topics, beside what was known."""

from uuid import UUID

from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.look_facts import PartitionSeen, TakesNothing, TopicSeen, TopicsSeen
from tests.core.build import TOPIC, cluster, learn

ID, OTHER = UUID(int=7 << 65), UUID(int=8 << 65)


def seen(*replicas: int, offline: tuple[int, ...] = (), epoch: int = 5) -> PartitionSeen:
    return PartitionSeen(SeenPartition(replicas), replicas[0], replicas, epoch, offline)


def topic(*partitions: PartitionSeen, id_: UUID = ID) -> dict[str, TopicSeen]:
    return {TOPIC: TopicSeen(id_, dict(enumerate(partitions)))}


def here(*partitions: PartitionSeen) -> Cluster:
    made = cluster()
    learn(made, TopicsSeen({}, gone=frozenset({TOPIC})))
    learn(made, TopicsSeen(topic(*partitions)))
    return made


def replicas(made: Cluster) -> dict[int, tuple[int, ...]]:
    return {index: one.replicas for index, one in made.topics[TOPIC].partitions.items()}


def test_kr_1_another_topic_of_the_same_name_has_nothing_of_the_former_one() -> None:
    made = here(seen(1, 2), seen(2, 3))
    news = learn(made, TopicsSeen(topic(seen(3, 1), id_=OTHER)))
    assert (made.topics[TOPIC].id, replicas(made)) == (OTHER, {0: (3, 1)})
    assert [(one.partition, one.before) for one in news.arrived] == [(0, None)]


def test_kr_1_a_topic_that_has_grown_keeps_what_is_known_and_the_new_partitions_arrive() -> None:
    made = here(seen(1, 2))
    news = learn(made, TopicsSeen(topic(seen(1, 2), seen(2, 3))))
    assert replicas(made) == {0: (1, 2), 1: (2, 3)}
    assert [(one.partition, one.before) for one in news.arrived] == [(1, None)]


def test_kr_1_in_the_look_that_shows_a_topic_grown_its_known_partitions_are_taken_in_as_in_any_other() -> None:
    names = [TopicPartition(TOPIC, index) for index in range(3)]
    moving = PartitionSeen(SeenPartition((3, 2, 1), (3,), (1,)), 1, (1, 2), 5)
    made = here(moving, seen(2, 3, offline=(3,)), seen(1, 2))
    made.queue.waiting.more = False
    grown = topic(seen(3, 2), seen(2, 3), seen(1, 3), seen(2, 3))
    news = learn(made, TopicsSeen(grown, outdated=frozenset(names[2:]), unsure={3}))
    assert replicas(made) == {0: (3, 2), 1: (2, 3), 2: (1, 2), 3: (2, 3)}, "a change of the third came in between"
    assert made.topics[TOPIC].partitions[1].offline == (3,), "nobody says that it is back"
    assert made.queue.waiting.more, "there is room: a move of others has ended"
    assert [one.partition for one in news.arrived] == [3]
    news = learn(made, TopicsSeen(topic(*[seen(2, 3)] * 2, seen(2, 3), seen(2, 3), seen(1, 2))))
    assert news.offline
    assert sorted(one.partition for one in news.arrived) == [2, 4]
    assert made.moving == {}


def test_kr_1_a_broker_that_has_not_heard_of_new_partitions_takes_none_away() -> None:
    made = here(seen(1, 2), seen(2, 3))
    news = learn(made, TopicsSeen(topic(seen(1, 2, epoch=6))))
    assert replicas(made) == {0: (1, 2), 1: (2, 3)}
    assert made.topics[TOPIC].partitions[0].leader_epoch == 6
    assert not news.arrived


def test_kr_1_a_look_that_began_before_a_change_does_not_undo_it() -> None:
    made = here(seen(1, 2))
    learn(made, TopicsSeen(topic(seen(1, 3)), outdated=frozenset({TopicPartition(TOPIC, 0)})))
    assert replicas(made) == {0: (1, 2)}
    news = learn(made, TopicsSeen(topic(seen(1, 3))))
    assert replicas(made) == {0: (1, 3)}
    assert [one.partition for one in news.arrived] == [0], "broker 3 had none"


def test_kr_1_replicas_go_offline_and_come_back_but_not_on_brokers_that_the_look_does_not_show() -> None:
    made = here(seen(1, 2))
    assert learn(made, TopicsSeen(topic(seen(1, 2, offline=(2,))))).offline
    assert not learn(made, TopicsSeen(topic(seen(1, 2, offline=(2,))))).offline
    assert not learn(made, TopicsSeen(topic(seen(1, 2)), unsure={2})).offline
    assert made.topics[TOPIC].partitions[0].offline == (2,)
    assert learn(made, TopicsSeen(topic(seen(1, 2)))).offline
    assert made.topics[TOPIC].partitions[0].offline == ()


def test_kr_1_topics_that_a_look_shows_again_or_are_gone_are_no_longer_unseen_and_waiting_moves_are_looked_at() -> None:
    made = here(seen(1, 2))
    made.soft.unseen = frozenset({TOPIC, "other", "gone"})
    made.queue.waiting.more = False
    learn(made, TopicsSeen({}, unseen=frozenset({TOPIC})))
    assert (made.soft.unseen, made.queue.waiting.more) == (frozenset({TOPIC, "other", "gone"}), False)
    learn(made, TopicsSeen(topic(seen(1, 2)), gone=frozenset({"gone"})))
    assert (made.soft.unseen, made.queue.waiting.more) == (frozenset({"other"}), True)


def test_kr_1_why_a_cluster_takes_nothing_is_known_until_it_does() -> None:
    made = here(seen(1, 2))
    for why in ("no rights", "no quorum", ""):
        learn(made, TakesNothing(why))
        assert made.soft.takes_nothing == why
