"""What a controller keeps when it reads the cluster again."""

from msgspec.structs import replace

from kafka_reassign_rpc.core.settings.broker_settings import KAFKA_DEFAULTS
from kafka_reassign_rpc.core.settings.reassignment_settings import ReassignmentSettings
from kafka_reassign_rpc.core.state.broker import KRaftFacts
from kafka_reassign_rpc.core.state.cluster import Cluster, SoftState
from kafka_reassign_rpc.core.state.queue_entries import BatchZnode, CancelAll
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.state.waiting_lines import receiving
from kafka_reassign_rpc.core.writers.reload import Reloaded, take_over
from kafka_reassign_rpc.core.writers.topic_writes import put_topic, remove_topic
from tests.core.build import TOPIC, TOPIC_ID, broker, cluster, moving, not_moving
from tests.core.frozen import picture


def taken_over(known: Cluster, fresh: Cluster) -> Reloaded:
    found = Reloaded([], set())
    for _ in take_over(known, fresh, found):
        pass
    return found


def known() -> Cluster:
    made = cluster(replace(not_moving(1, 2), partition_epoch=3), live=(1, 2, 3))
    put_topic(made, "gone", None, {0: not_moving(1, 2)}, version=1, created=7)
    made.soft = SoftState(
        shutting_down={1, 2, 3},
        gone=frozenset({9}),
        sizes={TopicPartition(TOPIC, 0): 5, TopicPartition("gone", 0): 6},
        broker_settings=replace(KAFKA_DEFAULTS, min_insync_replicas=2),
        started_with=ReassignmentSettings(hold_after_absence_ms=5),
        cancelled=77,
        reported={receiving(4)},
        migrating=frozenset({4}),
        kraft=KRaftFacts(frozenset({5})),
        takes_nothing="refused",
    )
    made.batch = BatchZnode(changed=5, waiting=3)
    made.derive_settings()
    return made


def fresh() -> Cluster:
    made = cluster(replace(not_moving(1, 2), partition_epoch=3), live=(1, 2, 3))
    made.batch, made.cancel_all, made.since = BatchZnode(changed=5, has_children=True), CancelAll(77), 900
    return made


def test_sv_3_a_reload_keeps_all_that_no_znode_has_of_what_is_still_the_same() -> None:
    made, soft = known(), picture(known().soft)
    found = taken_over(made, fresh())
    kept = dict(picture(made.soft))
    assert made.soft.sizes == {TopicPartition(TOPIC, 0): 5}
    assert [topic.name for topic in found.gone] == ["gone"]
    assert made.soft.former.id_of("gone") is None
    unlike = {field for field, value in soft if kept[field] != value}
    assert unlike == {"sizes", "former"}, "all else is as it was"
    assert made.batch == BatchZnode(changed=5, waiting=3, has_children=True)
    assert (made.cancel_all, made.since) == (None, 900)


def test_sv_3_a_broker_that_registered_again_is_not_shutting_down_after_a_reload_and_one_with_another_rack_is() -> None:
    made, read = known(), fresh()
    read.brokers = {1: broker(1, epoch=999), 2: broker(2, rack="r")}
    taken_over(made, read)
    assert made.soft.shutting_down == {2}


def test_hm_2_a_topic_that_cannot_be_read_is_kept_without_a_word_and_one_in_deletion_is_not() -> None:
    made, read = cluster(not_moving(1, 2)), cluster()
    put_topic(made, "deleting", TOPIC_ID, {0: not_moving(1, 2)}, version=1, deleting=True)
    put_topic(made, "gone", TOPIC_ID, {0: not_moving(1, 2)}, version=1)
    remove_topic(read, TOPIC)
    read.unreadable = {TOPIC: "garbage", "deleting": "garbage"}
    taken_over(made, read)
    former = made.soft.former
    assert [former.id_of(name) for name in (TOPIC, "gone", "deleting")] == [TOPIC_ID, TOPIC_ID, None]
    assert [*former.unreported({})] == [("gone", 1)], "with how many partitions"


def test_sv_3_until_a_reload_ends_nothing_has_changed() -> None:
    made = cluster(*[moving((1, 2), (1, 3))] * 500)
    read = cluster(*[moving((1, 2), (1, 4))] * 500)
    before, found = picture(made), Reloaded([], set())
    steps = take_over(made, read, found)
    count = sum(picture(made) == before for _ in steps)
    assert count >= 3
    assert len(found.changed) == 500
    assert made.topics[TOPIC].partitions[0].target == (1, 4)


def test_sv_3_every_field_of_the_soft_state_is_kept_or_named() -> None:
    """A new field has to be thought of in `reload`."""
    assert set(SoftState.__struct_fields__) == {
        "shutting_down", "gone", "sizes", "broker_settings", "former", "cancelled", "reported", "migrating",
        "kraft", "window", "unheard", "started_with", "in_force", "takes_nothing", "unseen",
    }  # fmt: skip


def test_hm_2_what_brokers_and_moves_have_left_is_known_of_a_topic_that_has_lost_its_id() -> None:
    made, now = known(), fresh()
    value = made.topics[TOPIC].partitions[0]
    put_topic(made, TOPIC, TOPIC_ID, {0: replace(value, offline=(2,), pending_deletion=(3,))}, version=3)
    put_topic(now, TOPIC, None, {0: replace(value, replicas=(1, 2, 3), removing=(3,))}, version=4)
    taken_over(made, now)
    kept = made.topics[TOPIC].partitions[0]
    assert (kept.offline, kept.pending_deletion, kept.is_moving) == ((2,), (3,), False)
    assert made.soft.former.id_of(TOPIC) == TOPIC_ID
