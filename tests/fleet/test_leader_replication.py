"""The leader's side of the simulated replication: sessions, grants, bandwidth, throttles, caught-up followers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.fleet.leader_replication import LeaderReplication
from kafka_reassign_rpc.fleet.replica_table import ReplicaTable, SimulatedReplica
from kafka_reassign_rpc.fleet.throttled_replicas import ThrottledReplicas

from .messages import fetch, granted

MIB = 1 << 20


class Leader:
    """Broker 1, which leads partitions of topic t; the test gives the times."""

    def __init__(self, sizes: list[int], isr: tuple[int, ...] = (1,), bandwidth: float | None = None) -> None:
        self.table = ReplicaTable()
        self.throttles = ThrottledReplicas()
        self.caught_up: list[tuple[int, int]] = []
        self.leading = LeaderReplication(
            1,
            self.table,
            self.throttles,
            bandwidth,
            30.0,
            lambda replica, follower: self.caught_up.append((replica.name.partition, follower)),
            0.0,
        )
        for index, size in enumerate(sizes):
            name = TopicPartition("t", index)
            log = self.table.create(name, None, size)
            replica = SimulatedReplica(name, log, leader=1, leader_epoch=5, replicas=(1, 2, 3), isr=isr)
            self.table.online[name] = replica
            self.leading.became_leader(replica, 0.0)

    def ask(self, request: Any, now: float = 0.0) -> Any:
        return self.leading.fetch(request, now)


def test_a_follower_gets_all_bytes_and_is_caught_up_once_it_confirms_them() -> None:
    leader = Leader([700])
    assert granted(leader.ask(fetch(0, (0, 5, 0)))) == {0: (0, 700, 700)}
    assert leader.caught_up == []
    answer = leader.ask(fetch(1))
    assert granted(answer) == {}
    assert answer.wait_ms == -1
    assert leader.caught_up == [(0, 2)]


def test_a_follower_that_has_everything_is_caught_up_at_once() -> None:
    leader = Leader([700])
    assert granted(leader.ask(fetch(0, (0, 5, 700)))) == {0: (0, 700, 0)}
    assert leader.caught_up == [(0, 2)]


def test_a_follower_with_too_many_bytes_learns_where_the_log_ends() -> None:
    leader = Leader([700])
    assert granted(leader.ask(fetch(0, (0, 5, 900)))) == {0: (0, 700, 0)}


@pytest.mark.parametrize(
    ("index", "epoch", "replica_id", "error"),
    [(0, 4, 2, 74), (0, 6, 2, 76), (0, 5, 9, 6), (7, 5, 2, 3)],
    ids=["fenced leader epoch", "unknown leader epoch", "no replica of it", "no such partition"],
)
def test_a_fetch_is_refused_per_partition(index: int, epoch: int, replica_id: int, error: int) -> None:
    leader = Leader([700, 50])
    answer = leader.ask(fetch(0, (index, epoch, 0), (1, 5, 50), replica_id=replica_id))
    assert granted(answer)[index] == (error, 0, 0)
    if replica_id == 2:
        assert granted(answer)[1] == (0, 50, 0)


@pytest.mark.parametrize("wrong", [fetch(2), fetch(1, session_id=9), fetch(1, replica_id=3)])
def test_a_session_that_is_not_known_has_to_begin_anew(wrong: Any) -> None:
    leader = Leader([700])
    leader.ask(fetch(0, (0, 5, 0)))
    assert leader.ask(wrong).error_code == 70
    assert leader.ask(fetch(1)).error_code == 0


def test_a_new_leader_epoch_throws_followers_out_until_they_announce_it() -> None:
    leader = Leader([700])
    leader.ask(fetch(0, (0, 5, 700)))
    replica = leader.table.online[TopicPartition("t", 0)]
    replica.leader_epoch = 6
    leader.leading.became_leader(replica, 1.0)
    assert not leader.leading.is_caught_up(replica.name, 2)
    assert granted(leader.ask(fetch(1))) == {0: (74, 0, 0)}
    leader.ask(fetch(2, (0, 6, 700)))
    assert leader.leading.is_caught_up(replica.name, 2)


def test_a_follower_that_learns_of_a_leader_epoch_before_the_leader_is_not_fenced_for_the_one_before() -> None:
    """It would wait for a LeaderAndIsr that it has already."""
    leader = Leader([700], isr=(1, 2))
    leader.ask(fetch(0, (0, 5, 700)))
    assert granted(leader.ask(fetch(1, (0, 6, 700)))) == {0: (76, 0, 0)}
    replica = leader.table.online[TopicPartition("t", 0)]
    assert not leader.leading.is_caught_up(replica.name, 2)
    assert leader.leading.is_late(replica.name, 2, 31.0)
    replica.leader_epoch = 6
    leader.leading.became_leader(replica, 1.0)
    assert granted(leader.ask(fetch(2))) == {}
    leader.ask(fetch(3, (0, 6, 700)))
    assert leader.leading.is_caught_up(replica.name, 2)


def test_bandwidth_bounds_what_goes_out_over_any_time() -> None:
    leader = Leader([100 * MIB], bandwidth=10 * MIB)
    total, sequence = granted(leader.ask(fetch(0, (0, 5, 0))))[0][2], 1
    for tick in range(1, 41):
        found = granted(leader.ask(fetch(sequence), now=tick * 0.05))
        total += found[0][2] if found else 0
        sequence += 1
    assert 20 * MIB <= total <= 22.5 * MIB


def test_l_the_leader_throttle_counts_named_replicas_that_are_not_in_the_isr() -> None:
    leader = Leader([50 * MIB, 50 * MIB])
    leader.throttles.set_broker("1", {"leader.replication.throttled.rate": str(MIB)})
    leader.throttles.set_topic("t", {"leader.replication.throttled.replicas": "0:1,1:9"})
    first = granted(leader.ask(fetch(0, (0, 5, 0), (1, 5, 0))))
    assert first[1][2] == 50 * MIB
    assert first[0][2] == 0
    second = granted(leader.ask(fetch(1), now=5.0))
    assert second[0][2] == MIB, "no more is saved up than comes in a second"
    leader.throttles.set_topic("t", {})
    assert granted(leader.ask(fetch(2), now=5.0))[0][2] == 50 * MIB - second[0][2]


def test_l_partitions_that_the_follower_throttles_get_only_its_share() -> None:
    leader = Leader([500, 500])
    answer = leader.ask(fetch(0, (0, 5, 0), throttled=True, max_throttled_bytes=30))
    assert granted(answer)[0][2] == 30
    assert answer.wait_ms > 0


def test_partitions_take_turns() -> None:
    leader = Leader([10 * MIB] * 4)
    seen = set(granted(leader.ask(fetch(0, *((i, 5, 0) for i in range(4)), max_bytes=MIB))))
    counts = dict.fromkeys(seen, 0)
    for sequence in range(1, 9):
        for index, (_, _, amount) in granted(leader.ask(fetch(sequence, max_bytes=MIB))).items():
            counts[index] += bool(amount)
    assert set(counts.values()) == {2}


def test_members_of_the_isr_that_are_silent_become_late() -> None:
    leader = Leader([700], isr=(1, 2, 3))
    name = TopicPartition("t", 0)
    leader.ask(fetch(0, (0, 5, 700)), now=1.0)
    assert leader.leading.late(29.0) == []
    for sequence in range(1, 30):
        leader.ask(fetch(sequence), now=1.0 + sequence)
    assert leader.leading.late(31.0) == [name]
    assert leader.leading.is_late(name, 3, 31.0)
    assert not leader.leading.is_late(name, 2, 31.0)
    assert leader.leading.late(61.0) == [name]
    assert leader.leading.is_late(name, 2, 61.0)


def test_a_lost_connection_alone_makes_no_follower_late() -> None:
    leader = Leader([700], isr=(1, 2))
    leader.ask(fetch(0, (0, 5, 700)), now=20.0)
    leader.ask(fetch(0, session_id=2), now=40.0)
    assert leader.leading.late(45.0) == []
    leader.ask(fetch(1, (0, 5, 700), session_id=2), now=46.0)
    assert leader.leading.late(52.0) == []
    assert leader.leading.is_caught_up(TopicPartition("t", 0), 2)


@given(
    sizes=st.lists(st.integers(0, 5 * MIB), min_size=1, max_size=6),
    budgets=st.lists(st.tuples(st.integers(0, 2 * MIB), st.integers(0, 2 * MIB)), max_size=30),
)
def test_no_follower_gets_more_bytes_than_it_asked_for_or_than_there_are(
    sizes: list[int], budgets: list[tuple[int, int]]
) -> None:
    leader = Leader(sizes)
    have = [0] * len(sizes)
    added: Any = [(index, 5, 0) for index in range(len(sizes))]
    for sequence, (budget, throttled) in enumerate(budgets):
        answer = leader.ask(fetch(sequence, *added, max_bytes=budget, max_throttled_bytes=throttled, throttled=True))
        added = []
        amounts = {index: amount for index, (_, _, amount) in granted(answer).items()}
        assert sum(amounts.values()) <= min(budget, throttled)
        for index, amount in amounts.items():
            have[index] += amount
    assert all(got <= size for got, size in zip(have, sizes, strict=True))
    sequence = len(budgets)
    while have != sizes:
        before = list(have)
        for index, (_, _, amount) in granted(leader.ask(fetch(sequence, *added))).items():
            have[index] += amount
        sequence, added = sequence + 1, []
        assert have != before
    leader.ask(fetch(sequence, *added))
    assert {index for index, _ in leader.caught_up} == set(range(len(sizes)))
