"""kr-11: what `check` says of a cluster in KRaft mode, from what was found."""

from collections.abc import Mapping

import msgspec
import pytest

from kafka_reassign_rpc.client.result_values import PartitionReassignment
from kafka_reassign_rpc.core.acls.acl_binding import AclOperation
from kafka_reassign_rpc.core.settings.healing_settings import MAX_BROKERS
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS, ENABLED, MAX_PER_CLUSTER
from kafka_reassign_rpc.core.settings.windows import WINDOWS
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint, KRaftFacts
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.kraft_check import Facts, findings
from kafka_reassign_rpc.kraft.kraft_process import NEEDED
from kafka_reassign_rpc.kraft.leave_cluster import HOLD, what_is_left
from kafka_reassign_rpc.kraft.ports import Look
from kafka_reassign_rpc.kraft.read_status import SILENT_MS, Replayed, cluster_of
from kafka_reassign_rpc.kraft.round_records import Intents, Setting
from kafka_reassign_rpc.kraft.state_log.log_errors import LogRefused, LogUnavailable, NotBrokers
from kafka_reassign_rpc.kraft.state_log.log_topic import command
from kafka_reassign_rpc.leaving.kept_file import Kept, waiting, with_moves
from kafka_reassign_rpc.preflight.findings import Level, filled, lines, unsafe
from kafka_reassign_rpc.support.typed_commands import Connection
from tests.kraft.test_importing import CLUSTER, WAITING

NOW, SERVER = 1_700_000_000_000, 1_000
OURS, THEIRS = TopicPartition("t", 0), TopicPartition("t", 1)
MOVE = PartitionReassignment((1, 3, 2), (3,), (2,))
RECORD = MoveRecord(MoveTerms((1, 3), throttle=5), (2, 1), 7, NOW, phase=Phase.MOVING)


def look(ids: tuple[int, ...] = (1, 2, 3), fenced: tuple[int, ...] = ()) -> Look:
    brokers = {one: Broker(one, -1, (Endpoint("PLAINTEXT", "PLAINTEXT", "b", 9092),)) for one in ids}
    return Look(brokers, {}, {OURS: MOVE, THEIRS: MOVE}, kraft=KRaftFacts(fenced=frozenset(fenced)))


def read(heard_ms: int = NOW) -> Replayed:
    intents = Intents()
    intents.moves[OURS] = RECORD
    return Replayed(intents, "1000@here:9192", 5, NOW, heard_ms)


FIT = Facts(NEEDED, look(), [], read())


def levels(facts: Facts, lost: str | None = None) -> Mapping[str, tuple[Level, str]]:
    return {one.subject: (one.level, one.text) for one in findings(facts, SERVER, lost, NOW)}


def test_kr_11_of_a_fit_cluster_all_is_well_and_moves_of_others_are_counted_apart() -> None:
    found = levels(FIT)
    assert {level for level, _ in found.values()} == {Level.OK}
    assert "server 1000@here:9192 leads, 1 move in flight, 0 waiting" in found["state-log"][1]
    assert "1 move of others is in flight (t-1)" in found["moves"][1]
    silent = levels(FIT._replace(log=read(NOW - SILENT_MS)))
    assert "no server leads" in silent["state-log"][1]
    empty = levels(FIT._replace(log=Replayed(Intents())))
    assert empty["state-log"] == (Level.OK, "it can be read: no server leads, 0 moves in flight, 0 waiting")


@pytest.mark.parametrize(
    ("facts", "subject", "level", "text"),
    [
        (FIT._replace(allowed=NEEDED - {AclOperation.ALTER}), "rights", Level.UNSAFE, "lacks ALTER on the cluster"),
        (FIT._replace(look=look((1, SERVER))), "broker.id", Level.UNSAFE, "broker 1000 has the id of this server"),
        (FIT._replace(look=look((1,), (SERVER,))), "broker.id", Level.UNSAFE, "broker 1000 has the id"),
        (FIT._replace(look=look(fenced=(4,))), "brokers", Level.WARNING, "broker 4 is fenced"),
        (FIT._replace(log_says=LogRefused("it is compacted"), log=None), "state-log", Level.UNSAFE, "it is compacted"),
        (FIT._replace(log_says=LogUnavailable("no leader"), log=None), "state-log", Level.UNSAFE, "no leader"),
        (FIT._replace(log_says=NotBrokers(), log=None), "addresses", Level.UNSAFE, "no broker answers"),
        (FIT._replace(log_says=["it is not there"], log=None), "state-log", Level.WARNING, "it is not there"),
    ],
)
def test_kr_11_each_thing_in_the_way_has_its_finding(facts: Facts, subject: str, level: Level, text: str) -> None:
    found = levels(facts)
    assert found[subject][0] is level
    assert text in found[subject][1]


async def with_settings(values: Mapping[str, str]) -> Facts:
    log = read()
    log.intents.settings = {name: Setting(name, value) for name, value in values.items()}
    return FIT._replace(log=log, cluster=await cluster_of(log, look()))


@pytest.mark.parametrize(
    ("values", "subject", "level", "text"),
    [
        ({}, "settings", Level.OK, "no setting is set for all servers"),
        ({MAX_BROKERS: "2"}, "settings", Level.OK, f"the servers share {MAX_BROKERS}='2'"),
        ({MAX_PER_CLUSTER: "0"}, "settings", Level.WARNING, f"{MAX_PER_CLUSTER}=0: no move that copies anything"),
        ({MAX_BROKERS: "0"}, "settings", Level.WARNING, f"{MAX_BROKERS}=0: no lost broker is ever repaired"),
        ({WINDOWS: "mon 01:00-02:00 UTC max.per.broker=0"}, "settings", Level.WARNING, "no move starts then"),
        ({"of.tomorrow": "1"}, "settings", Level.WARNING, "the state log has settings that this version does not know"),
        ({CORDONED_BROKERS: "2,7"}, "cordon", Level.OK, "get no new replica: 2, 7 (not registered: 7)"),
        ({CORDONED_BROKERS: "1,2,3"}, "cordon", Level.WARNING, "brokers are cordoned: no broker is healed"),
        ({WINDOWS: "mon 01:00-02:00 Atlantis/Capital"}, "windows", Level.WARNING, "is no time zone of this host"),
    ],
)
async def test_kr_11_what_servers_share_and_what_is_odd_about_it_is_told_as_in_zookeeper_mode(
    values: Mapping[str, str], subject: str, level: Level, text: str
) -> None:
    found = levels(await with_settings(values))
    assert found[subject][0] is level
    assert text in found[subject][1]


async def test_kr_11_an_odd_setting_comes_with_the_command_that_takes_it_away() -> None:
    [found] = [one for one in findings(await with_settings({MAX_PER_CLUSTER: "0"}), SERVER, None, NOW) if one.advice]
    [told] = filled([found], Connection("b:9092", None))
    cure = f"kafka-reassign settings --bootstrap-server b:9092 --delete {MAX_PER_CLUSTER}"
    assert told.advice == f"`{cure}`, while a server leads"


def test_kr_11_a_command_that_cures_stands_on_a_line_of_its_own() -> None:
    gone = FIT._replace(log_says=LogRefused(f"it is gone, create it: {command('log', 3)}"), log=None)
    unsafe_ones = [one for one in findings(gone, SERVER, None, NOW) if one.level is Level.UNSAFE]
    [found] = filled(unsafe_ones, Connection("b:9092", "client.properties"))
    assert found.text == "it is gone, create it"
    [typed] = found.commands
    begin = "kafka-topics.sh --bootstrap-server b:9092 --command-config client.properties --create --topic log "
    assert typed.startswith(begin)


def test_kr_11_a_sentence_of_a_broker_has_one_full_stop_before_the_advice() -> None:
    said = lines([unsafe("cluster", "it does not answer: The broker said so.", "ask again")])
    assert said[0] == "UNSAFE   cluster: it does not answer: The broker said so. What to do: ask again"


def test_kr_11_a_listener_that_shows_logins_is_a_warning() -> None:
    assert levels(FIT, "everybody can read")["listeners"] == (Level.WARNING, "everybody can read")


def test_kr_11_what_leave_keeps_in_front_of_kraft_is_what_import_takes_in() -> None:
    kept = with_moves(Kept(CLUSTER), WAITING, {OURS: RECORD}, {ENABLED: "true"})
    assert waiting(kept) == WAITING
    assert [one["partition"] for one in kept.partitions] == [0], "what is held is in the queue alone"
    [original] = kept.originals.partitions
    assert (original["replicas"], original["target"], original["throttle"]) == ([2, 1], [1, 3], 5)
    again = msgspec.json.decode(msgspec.json.encode(kept), type=Kept)
    assert waiting(with_moves(again, {}, {}, {})) == WAITING, "a run that was killed goes on with a queue that is gone"
    assert with_moves(again, {}, {}, HOLD).settings[ENABLED] == "true", "which it has held itself"


def test_kr_11_nothing_is_left_of_empty_intents() -> None:
    assert list(what_is_left(Intents())) == []
    assert [str(one) for one in what_is_left(read().intents)] == ["moves: 1 partition is moving (t-0)"]
