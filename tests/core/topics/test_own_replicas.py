"""Whether a replica on a server's id is a broker's, which alone may decide about it."""

from uuid import UUID

from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition, Topic
from kafka_reassign_rpc.core.topics.missing_replicas import held_by_brokers, refusal
from tests.core.build import cluster, not_moving

OURS = 9
BORN = Partition((OURS, 1), leader=NO_LEADER, leader_epoch=0, partition_epoch=0)
PARTITIONS = {
    0: not_moving(OURS, 1),
    1: not_moving(1, OURS, isr=(1,)),
    2: BORN,
    3: Partition((OURS, 1)),
    4: not_moving(1, 2),
    5: replace(not_moving(1, 2), pending_deletion=(OURS,)),
    6: not_moving(1, OURS, isr=(), leader=NO_LEADER),
    7: Partition((OURS, 2)),
}
TOPIC = Topic("t", UUID(int=1), PARTITIONS, unreadable={7: "no JSON"})


def held(*, is_ours: bool) -> list[int]:
    return [one.partition for one in held_by_brokers([TOPIC], OURS, is_ours=is_ours)]


def test_sv_4_a_partition_that_never_had_a_leader_has_no_records_that_a_broker_could_hold() -> None:
    assert held(is_ours=False) == [0, 1, 5, 6, 7]


def test_sv_4_on_an_id_that_a_server_took_first_only_what_leads_or_is_in_sync_is_a_brokers() -> None:
    """Or what nobody is in sync with, or cannot be read."""
    assert held(is_ours=True) == [0, 6, 7]


def test_sv_4_no_replica_may_be_put_on_a_servers_id_but_the_one_that_a_broker_has_there() -> None:
    here = cluster(not_moving(1, 2))
    here.servers = frozenset({OURS})
    error = refusal(here, (1, OURS))
    assert isinstance(error, InvalidReplicaAssignment)
    assert "No broker can have the id 9" in str(error)
    assert refusal(here, (1, 2)) is None
    assert refusal(here, (1, OURS), not_moving(OURS, 1)) is None, "it leads there"
    assert refusal(here, (1, OURS), not_moving(1, OURS, isr=(1,))) is not None, "others are in sync"
