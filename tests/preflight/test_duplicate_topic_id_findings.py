"""Topics with one id: both checks call it unsafe, name them, and say which one the logs belong to."""

import json
import shlex
from base64 import urlsafe_b64decode
from uuid import UUID

import pytest

from kafka_reassign_rpc.core.state.partition import topic_id_text
from kafka_reassign_rpc.preflight.findings import Cures, Finding, Level
from kafka_reassign_rpc.preflight.unique_findings import Log, Twins, topic_id_findings
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.topic_znodes import Assignment, TopicZnode, encode_topic
from tests.controller.bare_controller import id_of, topic_json
from tests.core.build import cluster, not_moving
from tests.core.topics.test_duplicate_topic_ids import knows, topic
from tests.faults.cluster import Cluster
from tests.preflight.checking import checked
from tests.preflight.command import run
from tests.waiting import eventually

X, Y, Z = UUID(int=101), UUID(int=102), UUID(int=103)
FIRST, SECOND = "AAAAAAAAAAAAAAAAAAAAZQ", "AAAAAAAAAAAAAAAAAAAAZg"


def znode(*replicas: int) -> TopicZnode:
    return TopicZnode(X, {0: Assignment(replicas or (1, 2))}, {}, {})


def found(**changes: object) -> Finding:
    """Topics a and b have one id, and a had it first."""
    here = knows(topic("a", X), topic("b", X))
    fields = {"znodes": {"a": znode(), "b": znode()}, "asked": ("a", "b"), **changes}
    (one,) = topic_id_findings(here, Twins(**fields), Cures("zk:2181"))  # type: ignore[arg-type]
    return one


def written(one: Finding) -> dict[str, str | None]:
    """The ids that the commands write, by topic."""
    ids = {}
    for command in one.commands:
        *_, path, data = shlex.split(command)
        ids[path.rpartition("/")[2]] = json.loads(data).get("topic_id")
    return ids


def log(name: str, broker: int = 1) -> Log:
    return Log(name, broker, f"/data/{name}-0")


def test_sv_4_where_ids_are_unique_all_is_well() -> None:
    (one,) = topic_id_findings(cluster(not_moving(1)), Twins(), Cures("zk:2181"))
    assert (one.level, one.text) == (Level.OK, "no two topics have one id")


@pytest.mark.parametrize(
    ("changes", "ids", "said"),
    [
        # Brokers know the second by the id that it had before.
        ({"told": {"a": frozenset({X}), "b": frozenset({Y})}, "logs": [log("a"), log("b")]}, {"b": SECOND}, "b under"),
        ({"told": {"a": frozenset({Y})}, "logs": [log("a"), log("b")]}, {"a": SECOND}, "b keeps its id"),
        ({"told": {"a": frozenset({Y}), "b": frozenset({Z})}}, {"a": SECOND, "b": "AAAAAAAAAAAAAAAAAAAAZw"}, "again"),
        # Only one has logs.
        ({"logs": [log("a"), log("a", 2)]}, {"b": None}, "a keeps its id; no broker has a log of b"),
        ({"logs": [log("b")]}, {"a": None}, "no broker has a log of a: take topic_id out of its znode"),
        ({}, {"b": None}, "a had the id first, and keeps it; no broker has a log of b"),
        # Both have, and nothing more is known.
        ({"logs": [log("a"), log("b", 2)]}, {}, "look at topic_id in /data/b-0/partition.metadata of broker 2"),
        ({"told": {"b": frozenset({Y, Z})}, "logs": [log("a"), log("b")]}, {}, "the logs of b say which id is its own"),
        # Absence is no evidence.
        ({"silent": [3], "logs": [log("a")]}, {}, "where logs of b are: look at topic_id in LOG_DIR/b-0"),
        ({"silent": [3]}, {}, "broker 3 has not listed the logs"),
        ({"znodes": {"a": znode(), "b": znode(1, 9)}, "logs": [log("a")]}, {}, "not known where logs of b are"),
        ({"asked": ("a",), "logs": [log("a")]}, {}, "not known where logs of b are"),
    ],
)  # fmt: skip
def test_sv_4_topics_with_one_id_are_unsafe_and_what_brokers_say_tells_whose_it_is(
    changes: dict[str, object], ids: dict[str, str | None], said: str
) -> None:
    one = found(**changes)
    assert (one.level, one.subject) == (Level.UNSAFE, "twin-ids")
    assert f"topics a, b have one id, {FIRST}: no stock controller can be elected" in one.text
    assert said in f"{one.text} {one.advice}"
    assert written(one) == ids


@pytest.mark.asyncio(loop_scope="module")
async def test_sv_4_both_checks_find_topics_with_one_id_and_their_commands_cure_it(simulated: Cluster) -> None:
    zk = simulated.zk
    znode_of_t = await topic_json(zk, "t")
    id_ = znode_of_t["topic_id"]
    await zk.create(znode_paths.topic("copy"), json.dumps(znode_of_t).encode())

    async def unsafe() -> Finding | None:
        told = await checked(simulated.connect)
        assert not any("cannot be understood" in one.text for one in told if one.subject == "topics")
        return next((one for one in told if one.subject == "twin-ids" and one.level is Level.UNSAFE), None)

    ended = await run("check", "--for-kraft", "--json", "--zookeeper-connect", simulated.connect)
    of_kraft = [Finding(**one) for one in json.loads(ended.out)["findings"]]
    assert not any("cannot be understood" in one.text for one in of_kraft)
    for one in (await unsafe(), *(one for one in of_kraft if one.subject == "twin-ids")):
        assert one is not None
        assert one.level == Level.UNSAFE
        assert f"topics copy, t have one id, {id_}" in one.text
        assert "t keeps its id; no broker has a log of copy" in one.advice
        assert written(one) == {"copy": None}

    other = topic_id_text(id_of("other"))
    await zk.create(znode_paths.topic("other"), encode_topic(id_of("other"), {0: ((1, 2), (), ())}))
    await eventually(lambda: zk.exists(znode_paths.partition_state("other", 0)))
    await zk.set(
        znode_paths.topic("other"), encode_topic(UUID(bytes=urlsafe_b64decode(id_ + "==")), {0: ((1, 2), (), ())})
    )

    async def brokers_know_it() -> bool:
        one = await unsafe()
        return one is not None and written(one) == {"copy": None, "other": other}

    await eventually(brokers_know_it)
    one = await unsafe()
    assert one is not None
    for command in one.commands:
        *_, path, data = shlex.split(command)
        await zk.set(path, data.encode())

    async def is_cured() -> bool:
        ids = [(await topic_json(zk, name)).get("topic_id") for name in ("t", "copy", "other")]
        return None not in ids and ids[::2] == [id_, other] and len(set(ids)) == 3

    await eventually(is_cured)
    assert await unsafe() is None
