"""kr-6: what is known of a change, and what looks prove."""

from collections.abc import Mapping
from typing import cast
from uuid import UUID

import pytest

from kafka_reassign_rpc.client.client_errors import NotSent, Unauthenticated, Unreachable, UnsupportedHere, error_of
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.client.result_values import PartitionInfo
from kafka_reassign_rpc.core.kafka_errors import KafkaError, TopicAuthorizationFailed, UnknownTopicOrPartition
from kafka_reassign_rpc.core.state.partition import topic_id_text
from kafka_reassign_rpc.kraft.cluster_seen import Absences, Absent, Known
from kafka_reassign_rpc.kraft.ports import LookFailed
from kafka_reassign_rpc.kraft.upstream import NOT_ASKED, Seen, Told, Upstream, Wanted, outcome_of, without_leader
from kafka_reassign_rpc.kraft.upstream_cluster import UpstreamCluster
from kafka_reassign_rpc.support.slices import finished
from tests.tables import for_each

ONE, TWO = (topic_id_text(UUID(int=number << 65)) for number in (1, 2))
T = Known("t", ONE)
THERE = TopicInfo("t", {0: PartitionInfo(1, (1,), (1,))}, None, ONE)
ABSENT = TopicInfo("t", {}, UnknownTopicOrPartition())


ERRORS: tuple[tuple[KafkaError | None, Told], ...] = (
    (None, Told.DONE),
    (error_of(-1, None), Told.UNKNOWN),
    (error_of(7, None), Told.UNKNOWN),
    (error_of(13, None), Told.UNKNOWN),
    (error_of(41, None), Told.UNKNOWN),
    (Unreachable("lost", may_have_had_effect=True), Told.UNKNOWN),
    (Unreachable("refused"), Told.NOT_TOLD),
    (NotSent(), Told.NOT_TOLD),
    (Unauthenticated("no"), Told.NOT_TOLD),
    (UnsupportedHere("no"), Told.NOT_TOLD),
    (error_of(31, None), Told.NOT_TOLD),
    (error_of(35, None), Told.NOT_TOLD),
    (error_of(58, None), Told.NOT_TOLD),
    (error_of(89, None), Told.NOT_TOLD),
    (error_of(39, "Unknown replica"), Told.REFUSED),
    (error_of(85, None), Told.REFUSED),
    (error_of(3, None), Told.REFUSED),
    (error_of(9_999, None), Told.REFUSED),
)


@for_each("error, told", ERRORS)
def test_kr_6_silence_and_errors_that_say_nothing_of_the_change_leave_it_open(
    error: KafkaError | None, told: Told
) -> None:
    assert outcome_of(error) == (told, error)


def test_kr_6_an_error_of_a_whole_request_says_nothing_about_its_items() -> None:
    assert outcome_of(error_of(42, "odd"), of_request=True).told is Told.NOT_TOLD
    assert outcome_of(error_of(42, "odd")).told is Told.REFUSED
    assert outcome_of(error_of(41, None), of_request=True).told is Told.UNKNOWN


class Scripted:
    """Of `Upstream`, what these looks return."""

    def __init__(self, *topics: Mapping[str, TopicInfo] | KafkaError) -> None:
        self._seen = [Seen(1.0, 1.1, moves={}, brokers={}, topics=one) for one in topics]

    async def look(self, _: Wanted) -> Seen:
        return self._seen.pop(0)


async def is_gone(*topics: Mapping[str, TopicInfo] | KafkaError) -> bool:
    """By looks one after the other, of which each names the topic `t`."""
    cluster, absences = UpstreamCluster(cast(Upstream, Scripted(*topics)), "PLAINTEXT"), Absences()
    found: Absent = Absent()
    for _ in topics:
        found = finished(absences.taken(await cluster.look(["t"]), [T], {}))
    return T in found.gone


@pytest.mark.parametrize(
    ("first", "second", "gone"),
    [
        (ABSENT, ABSENT, True),
        (ABSENT, THERE, False),
        (THERE, ABSENT, False),
        (None, None, False),
        (ABSENT, None, False),
        (ABSENT, TopicInfo("t", {}, TopicAuthorizationFailed()), False),
        (ABSENT, TopicInfo("t", {}, KafkaError("odd")), False),
        (THERE._replace(topic_id=TWO), ABSENT, True),
        (THERE._replace(topic_id=TWO), THERE._replace(topic_id=TWO), True),
        (THERE._replace(topic_id=""), ABSENT, False),
    ],
)
async def test_kr_6_a_topic_is_gone_only_if_two_looks_say_so(
    first: TopicInfo | None, second: TopicInfo | None, gone: bool
) -> None:
    early, late = ({} if one is None else {"t": one} for one in (first, second))
    assert await is_gone(early, late) is gone
    assert not await is_gone(early)
    for unknown in (NOT_ASKED, Unreachable("no answer")):
        with pytest.raises(LookFailed):
            await is_gone(early, unknown)


def test_kr_6_what_was_not_asked_says_nothing() -> None:
    one = Seen(1.0, 1.1)
    assert isinstance(one.moves, KafkaError)
    assert isinstance(one.brokers, KafkaError)
    assert isinstance(one.topics, KafkaError)
    assert without_leader({"t": THERE, "u": TopicInfo("u", {0: PartitionInfo(-1, (1,), ())}, None)}) == ["u"]
