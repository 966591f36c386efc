"""What keeps a cluster from its migration to KRaft, one blocker at a time."""

import re
import shlex
from collections.abc import Callable
from typing import Any

import pytest

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.controller_election import ControllerOwner
from kafka_reassign_rpc.controller.duties.defaults_judge import Refusal
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.core.restarts.ending_values import is_credential
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import BatchZnode, CancelAll, QueuePart, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.findings import Cures, Finding, Level
from kafka_reassign_rpc.preflight.kraft_findings import findings
from kafka_reassign_rpc.preflight.own_znodes import MigrationState, OwnZnode, OwnZnodes, writers
from kafka_reassign_rpc.preflight.read_state import ControllerNow, FoundState
from kafka_reassign_rpc.preflight.restart_findings import RestartState
from kafka_reassign_rpc.support.typed_commands import Connection
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import AclEntry
from kafka_reassign_rpc.zookeeper.znode_contents import encode_config
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from tests.core.build import broker, cluster, moving, not_moving
from tests.preflight.found_states import found_state, restart_state
from tests.tables import for_each

OF_3_9 = {
    "inter.broker.protocol.version": "3.9-IV0",
    "controller.quorum.bootstrap.servers": "",
    "log.dirs": "/data",
    "zookeeper.metadata.migration.enable": "true",
}
CREDENTIAL = "salt=MTIz,stored_key=YWJj,server_key=YWJj,iterations=4096"
CURES = Cures("zk1:2181/kafka", Connection("b1:9092,b2:9092"), of_ours="--config s.toml")
State = tuple[Cluster, dict[str, Any], dict[str, Any], list[BrokerAnswer]]
"""A cluster, the rest of FoundState, what MigrationState and RestartState have, and what its brokers have answered."""


def answer(id_: int, log_dirs: Any = (("/data", 0),), problem: str = "", **configs: str) -> BrokerAnswer:
    """`configs` with `_` for `.`; an empty one is not there."""
    given = {name.replace("_", "."): value for name, value in configs.items()}
    known = {name: value for name, value in {**OF_3_9, **given}.items() if name not in given or value}
    one = broker(id_)
    return BrokerAnswer(one, one.endpoints[0], problem, configs=known, log_dirs=log_dirs)


def found(change: Callable[[State], Any] = lambda state: None) -> list[Finding]:
    """What is found in a cluster of three brokers that is ready, after a change. A change may return other brokers."""
    here = cluster(not_moving(1, 2), not_moving(2, 3), live=(1, 2, 3))
    state = found_state()
    more: dict[str, Any] = {"own": OwnZnodes([], []), "owners": {}, **restart_state()}
    answers = [answer(1), answer(2), answer(3)]
    change((here, state, more, answers))
    restarts = RestartState(**{name: more.pop(name) for name in RestartState._fields})
    return list(findings(FoundState(cluster=here, **state), MigrationState(**more), restarts, answers, CURES))


def put(partition: Partition) -> Callable[[State], Any]:
    return lambda state: state[0].topics["t"].partitions.update({0: partition})


def with_(of: int, **values: Any) -> Callable[[State], Any]:
    """`of`: 0 the cluster, 1 the rest of FoundState, 2 MigrationState and RestartState."""

    def change(state: State) -> None:
        here, *rest = state[:3]
        for name, value in values.items():
            setattr(here, name, value) if of == 0 else rest[of - 1].update({name: value})

    return change


def brokers(*answers: BrokerAnswer) -> Callable[[State], Any]:
    return lambda state: state[3].__setitem__(slice(None), answers)


def client(path: str, **configs: str) -> Callable[[State], Any]:
    return with_(2, configs={f"/config/{path}": encode_config(configs)})


def in_flight(state: State) -> None:
    state[0].topics["t"].partitions[0] = moving([1, 2], [2, 3])
    state[0].moving["t"] = {0}


def without_id(state: State) -> None:
    state[0].topics["t"].id = None


NAME = TopicPartition("t", 1)
GARBAGE = BadZnode("/x", "it is no JSON")
BLOCKERS: dict[str, tuple[Callable[[State], Any], str, str]] = {
    "a move in flight": (in_flight, "moves", "t-0"),
    "an entry of reassign_partitions": (
        with_(0, batch=BatchZnode(entries={NAME: None})),  # type: ignore[dict-item]
        "waiting-moves",
        "t-1",
    ),
    "an unreadable reassign_partitions": (
        with_(0, batch=BatchZnode(unreadable=True)),
        "requests",
        znode_paths.REASSIGN_PARTITIONS,
    ),
    "a request": (with_(0, requests=frozenset({"r"})), "requests", znode_paths.REASSIGNMENT_REQUESTS),
    "a cancellation": (with_(0, cancel_all=CancelAll(1)), "requests", znode_paths.CANCEL_IN_PROGRESS),
    "moves are disabled": (with_(0, disabled_by_znode=True), "requests", znode_paths.REASSIGN_CANCEL),
    "an election": (with_(1, election=True), "requests", znode_paths.PREFERRED_REPLICA_ELECTION),
    "a broken queue": (with_(1, problems=["the queue is broken"]), "requests", "the queue is broken"),
    "a deletion": (with_(1, marks=["t"]), "deletions", "t"),
    "a lease": (
        with_(2, own=OwnZnodes([OwnZnode("/admin/reassignment_throttles/brokers/1", 5, 0, 0)], [])),
        "leases",
        "brokers/1",
    ),
    "a topic without id": (without_id, "topic-ids", "t"),
    "an unreadable topic": (with_(0, unreadable={"u": "garbage"}), "topics", "u"),
    "no replicas": (put(Partition(())), "empty-replicas", "t-0"),
    "no state": (put(Partition((1, 2))), "stateless", "t-0"),
    "a broker that is gone": (put(not_moving(1, 7, isr=[1])), "lost-replicas", "t-0"),
    "a replica to be deleted there": (
        put(Partition((1, 2), leader=1, isr=(1, 2), partition_epoch=1, pending_deletion=(8,))),
        "lost-replicas",
        "8",
    ),
    "an unreadable registration": (with_(1, registered=["1", "2", "3", "x"]), "registrations", "x"),
    "our settings among the defaults": (
        with_(0, broker_configs={"<default>": {"failure.interval.ms": "1000"}}),
        "settings",
        "failure.interval.ms",
    ),
    "configs of no broker": (with_(2, configs={"/config/brokers/one": b""}), "broker-configs", "one"),
    "configs that are garbage": (with_(2, configs={"/config/topics/t": b"[]"}), "configs", "/config/topics/t "),
    "configs of a broker that are garbage": (
        with_(2, configs={"/config/brokers/1": b"{"}),
        "configs",
        "/config/brokers/1 ",
    ),
    "a config that is no text": (
        with_(2, configs={"/config/topics/t": b'{"version":1,"config":{"retention.ms":7}}'}),
        "configs",
        "/config/topics/t (retention.ms: no text)",
    ),
    "ACLs that are garbage": (with_(2, acls={"/kafka-acl/Topic/x": "it is no JSON"}), "acls", "/kafka-acl/Topic/x"),
    "a quota that is no number": (client("users/a", producer_byte_rate="x"), "quotas", "users/a"),
    "a quota that is no whole number": (client("clients/a", consumer_byte_rate="9e9"), "quotas", "clients/a"),
    "a config of a client that is no number": (client("users/a", other="x"), "quotas", "users/a"),
    "a broken credential": (client("users/a", **{"SCRAM-SHA-256": "salt=a"}), "quotas", "users/a"),
    "a credential of a pair": (
        client("users/a/clients/c", **{"SCRAM-SHA-256": CREDENTIAL}),
        "quotas",
        "users/a/clients/c",
    ),
    "quotas that are garbage": (with_(2, configs={"/config/ips/10.0.0.1": b"{"}), "configs", "ips/10.0.0.1"),
    "a user whose name cannot be decoded": (with_(2, configs={"/config/users/50%": b""}), "quotas", "users/50%"),
    "an address that is none": (client("ips/300.1.1.1"), "quotas", "ips/300.1.1.1"),
    "no cluster id": (with_(2, cluster_id=None), "cluster-id", "/cluster/id"),
    "producer ids that are none": (with_(2, producer_ids=b"none"), "producer-ids", "/latest_producer_id_block"),
    "a topic of groups that is none": (
        with_(0, unreadable={"__consumer_offsets": "garbage"}),
        "internal-topics",
        "/brokers/topics/__consumer_offsets",
    ),
    "a topic config that ends brokers": (
        with_(0, topic_configs={"t": {"retention.ms": "abc"}}),
        "topic-configs",
        "abc",
    ),
    "defaults that end a broker that is down": (
        with_(0, broker_configs={"9": {"log.flush.interval.ms": "-1"}}),
        "default-configs",
        "broker 9",
    ),
    "defaults that end a broker, as it says": (
        brokers(answer(1)._replace(defaults=Refusal(InvalidRequest("it would not start again"), culprits=["x"]))),
        "default-configs",
        "it would not start again",
    ),
    "znodes of two owners": (
        with_(2, owners={"/a": frozenset({"sasl:x"}), "/b": frozenset({"sasl:y"})}),
        "znode-acls",
        "/b only by sasl:y",
    ),
    "znodes that nobody may write, or whose ACLs may not be read": (
        with_(2, owners={"/a": None, "/b": frozenset()}),
        "znode-acls",
        "nobody may write /b",
    ),
    "no broker": (brokers(), "brokers", "no broker"),
    "a silent broker": (brokers(answer(1), answer(2, problem="refused")), "brokers", "broker 2 (refused)"),
    "an old protocol": (brokers(answer(1, inter_broker_protocol_version="3.3-IV3")), "versions", "3.3-IV3"),
    "no protocol": (brokers(answer(1, inter_broker_protocol_version="new")), "versions", "new"),
    "two protocols": (brokers(answer(1), answer(2, inter_broker_protocol_version="3.8-IV0")), "versions", "3.8-IV0"),
    "a failed log dir": (brokers(answer(1, log_dirs=[("/a", 0), ("/b", 56)])), "log-dirs", "/b of broker 1"),
    "log dirs that are not told": (brokers(answer(1, log_dirs=None)), "log-dirs", "broker 1 does not"),
    "a listener with the controllers' name": (
        brokers(answer(1, listeners="A://:1,CONTROLLER://:2", controller_listener_names="CONTROLLER")),
        "controller-listeners",
        "broker 1 (CONTROLLER)",
    ),
    "several log dirs below 3.7": (
        brokers(answer(4, log_dirs=[("/a", 0), ("/b", 0)], inter_broker_protocol_version="3.6-IV2")),
        "log-dirs",
        "broker 4",
    ),
    "an empty /migration": (
        with_(1, migration=controller_election.migration(b"")),
        "migration",
        znode_paths.MIGRATION,
    ),
    "garbage in /migration": (
        with_(1, migration=controller_election.migration(b"{")),
        "migration",
        znode_paths.MIGRATION,
    ),
    "a /controller that nobody owns": (
        with_(1, controller=ControllerNow(ControllerOwner(1, (), 0, 0), 3, 0, None)),
        "controller",
        znode_paths.CONTROLLER,
    ),
    "a broken epoch": (with_(1, controller=ControllerNow(None, None, None, GARBAGE)), "controller", "/x"),
    "a lowered epoch": (
        with_(1, controller=ControllerNow(None, 0, None, None)),
        "controller",
        "/controller_epoch is 0",
    ),
    "no epoch": (with_(1, controller=ControllerNow(None, None, None, None)), "controller", "does not exist"),
}


ALSO = {"a topic of groups that is none": {"topics"}}
"""What is found as well."""


def test_mg_1_a_cluster_where_nothing_is_in_the_way_is_ready() -> None:
    assert {one.level for one in found()} == {Level.OK}


@for_each("case", BLOCKERS)
def test_mg_1_each_blocker_is_named_with_what_to_do(case: str) -> None:
    change, subject, named = BLOCKERS[case]
    blockers = [one for one in found(change) if one.level is Level.UNSAFE]
    assert {one.subject for one in blockers} - ALSO.get(case, set()) == {subject}
    assert any(named in one.text for one in blockers)
    assert all(one.advice for one in blockers)


def test_mg_1_each_partition_on_a_broker_that_is_gone_is_named() -> None:
    """One of them makes the migration wait forever."""

    def gone(state: State) -> None:
        many = {index: not_moving(1, 9, isr=[1]) for index in range(100)}
        state[0].topics["t"].partitions.update(many)

    [blocker] = [one for one in found(gone) if one.subject == "lost-replicas"]
    assert blocker.text.startswith("100 replicas are on 9, ")
    assert all(f"t-{index}" in blocker.text for index in range(100))
    assert "plan heal" in blocker.advice


def test_mg_1_a_replica_on_an_id_of_ours_is_moved_and_not_brought_back() -> None:
    def ours(state: State) -> None:
        put(not_moving(1, 1000, isr=[1]))(state)
        state[1]["taken_ids"] = ["1000"]

    [blocker] = [one for one in found(ours) if one.subject == "lost-replicas"]
    assert "a server of kafka-reassign-rpc" in blocker.text
    assert "bring" not in blocker.advice


def test_mg_1_what_has_to_be_prepared_keeps_no_cluster_from_being_ready() -> None:
    def change(state: State) -> None:
        here, _, more, answers = state
        token = b'{"version":3,"expiryTimestamp":1,"maxTimestamp":2}'
        more |= {
            "tokens": {"/delegation_token/tokens/a": token, "/delegation_token/tokens/b": token},
            "owners": {"/a": frozenset({"sasl:x", "sasl:y"}), "/b": frozenset({"sasl:y"})},
        }
        of_user = {"SCRAM-SHA-256": CREDENTIAL, "producer_byte_rate": "1000000", "request_percentage": " 1e1 "}
        more |= {"configs": {"/config/users/a": encode_config(of_user), "/config/ips/h.example": b""}}
        here.settings = {"failure.interval.ms": "1000"}
        here.broker_configs = {
            "1": {"leader.replication.throttled.rate": "5", "ssl.keystore.password": "secret"},
            "77": {"log.cleaner.threads": "2"},
        }
        here.topics["t"].partitions[0] = Partition((1, 2), leader=-1, isr=(1,), partition_epoch=1)
        answers[:] = [
            answer(
                1001,
                [("/a", 0), ("/b", 0)],
                inter_broker_protocol_version="3.8-IV0",
                authorizer_class_name="kafka.security.authorizer.AclAuthorizer",
                control_plane_listener_name="CONTROL",
                broker_id_generation_enable="true",
                reserved_broker_max_id="1000",
                zookeeper_metadata_migration_enable="false",
            )
        ]

    levels = {one.subject: one.level for one in found(change) if one.level is not Level.OK}
    assert set(levels.values()) == {Level.WARNING}
    assert levels.keys() == {
        "authorizer", "broker-configs", "broker-ids", "control-plane", "controllers", "delegation-tokens", "log-dirs",
        "offline", "passwords", "quotas", "settings", "throttles", "versions", "znode-acls",
    }  # fmt: skip


def test_mg_1_an_entry_without_configs_of_a_broker_that_is_away_is_no_finding() -> None:
    subjects = {one.subject for one in found(with_(0, broker_configs={"9": {}})) if one.level is not Level.OK}
    assert "broker-configs" not in subjects


def test_mg_1_a_release_below_the_bridge_is_recognized_by_what_the_broker_does_not_know() -> None:
    old = answer(1)
    old = old._replace(configs={name: one for name, one in old.configs.items() if "bootstrap" not in name})
    [warned] = [one for one in found(brokers(old)) if one.level is not Level.OK]
    assert (warned.level, warned.subject) == (Level.WARNING, "releases")


@pytest.mark.parametrize(
    ("broker", "reserved", "warned"),
    [(1000, "1000", False), (1001, "1000", True), (1, "0", True), (0, "0", False), (1001, "", True)],
)
def test_mg_1_an_id_above_the_reserved_ones_may_have_come_from_zookeeper(
    broker: int, reserved: str, warned: bool
) -> None:
    one = answer(broker, broker_id_generation_enable="true", reserved_broker_max_id=reserved)
    assert ("broker-ids" in {it.subject for it in found(brokers(one))}) == warned


@for_each(
    ("text", "valid"),
    [
        (CREDENTIAL, True),
        (CREDENTIAL.replace("YWJj", "YWI", 1), True),
        (CREDENTIAL.replace("MTIz", "M"), False),
        (CREDENTIAL.replace("MTIz", "M?=="), False),
        (CREDENTIAL.replace("4096", "many"), False),
        (CREDENTIAL.replace("4096", "99999999999"), False),
        (CREDENTIAL + ",more=1", False),
        ("", False),
    ],
)
def test_mg_1_a_credential_is_one_that_kafka_can_read(text: str, valid: bool) -> None:
    assert is_credential(text) == valid


def test_mg_1_a_znode_is_anybodys_if_the_world_may_write_it() -> None:
    read, write, everything = 1, 2, 31
    closed = [AclEntry(everything, "sasl", "kafka")]
    assert writers([AclEntry(everything, "world", "anyone"), *closed], write) is None
    assert writers([AclEntry(read, "world", "anyone"), *closed], write) == frozenset({"sasl:kafka"})
    assert writers([AclEntry(read, "world", "anyone")], write) == frozenset()
    assert writers([], write) == frozenset(), "not even the ACL may be read"


def test_mg_1_the_right_to_create_and_that_to_delete_count_apart_and_may_come_from_two_entries() -> None:
    create, delete = 4, 8
    entries = [
        AclEntry(create, "world", "anyone"),
        AclEntry(delete, "sasl", "kafka"),
        AclEntry(create, "sasl", "other"),
    ]
    assert writers(entries, create) is None
    assert writers(entries, create | delete) == frozenset({"sasl:kafka"})


SHELL = "zookeeper-shell.sh zk1:2181/kafka"
UNLESS_KRAFTS = f"{SHELL} get /controller | grep '\"kraftControllerEpoch\":[0-9]' || "
PLAN = (
    "kafka-reassign-rpc export --bootstrap-server b1:9092,b2:9092 --out snapshot",
    "kafka-reassign-rpc plan heal --snapshot snapshot --out plan-heal",
    "kafka-reassign-rpc submit --bootstrap-server b1:9092,b2:9092 --plan plan-heal --execute",
)
LEAVE = ("kafka-reassign-rpc leave --zookeeper-connect zk1:2181/kafka --config s.toml --export left.json --yes",)
CANCEL = ("kafka-reassign --bootstrap-server b1:9092,b2:9092 --cancel --preserve-throttles",)
OPEN = ("zookeeper-security-migration.sh --zookeeper.acl=unsecure --zookeeper.connect zk1:2181/kafka",)
THE_OPERATORS = {"a silent broker", "no broker", "a failed log dir", "log dirs that are not told"} | {
    "a broken queue", "a listener with the controllers' name", "an unreadable registration",
    "an unreadable topic", "no replicas", "configs that are garbage", "configs of a broker that are garbage",
    "ACLs that are garbage", "an unreadable reassign_partitions", "quotas that are garbage", "garbage in /migration",
    "a topic of groups that is none", "no cluster id", "producer ids that are none",
    "a topic config that ends brokers", "defaults that end a broker that is down",
    "defaults that end a broker, as it says", "a config that is no text",
}  # fmt: skip
"""What no command cures: disks, processes, properties that only an operator can name; and what nobody has back once a
command has deleted it."""
PRINTED = {
    "a move in flight": CANCEL,
    "an entry of reassign_partitions": CANCEL,
    "a request": LEAVE,
    "a cancellation": (f"{SHELL} delete /admin/cancel_reassignment_in_progress",),
    "a deletion": (f"{UNLESS_KRAFTS}printf '%s\\n' 'delete /admin/delete_topics/t' 'delete /controller' | {SHELL}",),
    "a lease": LEAVE,
    "our settings among the defaults": LEAVE,
    "a topic without id": (f"{UNLESS_KRAFTS}{SHELL} delete /controller",),
    "a broker that is gone": PLAN,
    "a replica to be deleted there": PLAN,
    "configs of no broker": (f"{SHELL} delete /config/brokers/one",),
    "a user whose name cannot be decoded": (f"{SHELL} deleteall /config/users/50%",),
    "an address that is none": (f"{SHELL} delete /config/ips/300.1.1.1",),
    "a quota that is no number": (f'{SHELL} set /config/users/a \'{{"version":1,"config":{{}}}}\'',),
    "znodes of two owners": OPEN,
    "an empty /migration": (f"{SHELL} delete /migration",),
    "a broken epoch": (f"{SHELL} set /controller_epoch 2",),
    "a lowered epoch": (f"{SHELL} set /controller_epoch 1",),
    "no epoch": (f"{SHELL} create /controller_epoch 1",),
    "two protocols": ("sed -i -E '/^(inter\\.broker\\.protocol\\.version)=/d' server.properties",),
}


@for_each("case", PRINTED)
def test_mg_1_the_command_that_cures_a_blocker_is_printed_as_it_can_be_run(case: str) -> None:
    [blocker] = [one for one in found(BLOCKERS[case][0]) if one.level is Level.UNSAFE]
    assert blocker.commands == PRINTED[case]


@pytest.mark.parametrize("case", BLOCKERS)
def test_mg_1_whatever_a_command_can_cure_without_harm_has_one(case: str) -> None:
    told = [one for one in found(BLOCKERS[case][0]) if one.level is Level.UNSAFE]
    assert all(bool(one.commands) == (case not in THE_OPERATORS) for one in told)


def test_mg_1_replicas_on_several_lost_brokers_are_moved_by_one_plan() -> None:
    blockers = [one for one in found(put(not_moving(1, 8, 9, isr=[1]))) if one.subject == "lost-replicas"]
    assert [one.commands for one in blockers] == [PLAN, ()]


def test_mg_1_commands_for_a_secured_cluster_name_the_files_that_they_need_and_none_names_an_unknown_broker() -> None:
    cures = Cures("zk:1", Connection("b:1", "client.properties"), "-zk-tls-config-file tls.properties")
    [cancel] = cures.cancel()
    connected = "kafka-reassign --bootstrap-server b:1 --command-config client.properties"
    assert cancel == f"{connected} --cancel --preserve-throttles"
    [elect] = cures.elect()
    assert elect.endswith(" || zookeeper-shell.sh zk:1 -zk-tls-config-file tls.properties delete /controller")
    [opened] = cures.open_znodes()
    assert opened.endswith("--zookeeper.connect zk:1 --zk-tls-config-file tls.properties")
    assert Cures("zk:1").heal() == Cures("zk:1").cancel() == ()


def test_mg_1_throttles_that_are_set_are_named_with_their_values_which_an_operator_may_want() -> None:
    rate = "leader.replication.throttled.rate"
    configs = {"<default>": {rate: "5", "log.cleaner.threads": "1"}, "1": {rate: "7"}}
    [warned] = [one for one in found(with_(0, broker_configs=configs)) if one.subject == "throttles"]
    assert f"brokers/<default> ({rate}=5), brokers/1 ({rate}=7)" in warned.text
    assert warned.commands == ()


def test_mg_1_what_waits_in_the_queue_is_kept_by_leave_and_not_cancelled_with_what_moves() -> None:
    def both(state: State) -> None:
        in_flight(state)
        for _ in state[0].queue.put(QueuePart("/q", "/q", {("t", 1): WaitingMove(MoveTerms((1, 2)))}, 0, 1, 1, 9)):
            pass

    printed = {one.subject: one.commands for one in found(both) if one.level is Level.UNSAFE}
    assert printed == {"moves": LEAVE, "waiting-moves": LEAVE}


def under_kraft(state: State) -> None:
    """Broker 3 is the last in ZooKeeper mode."""
    here, rest, more, _ = state
    rest["controller"] = ControllerNow(ControllerOwner(3000, (), 0, 0, kraft_epoch=7), 3, 0, None)
    here.brokers = {3: here.brokers[3]}
    own = [OwnZnode(f"/admin/reassignment_throttles/brokers/{broker}", 5, 0, 0) for broker in (1, 2)]
    more["own"] = OwnZnodes(own, [])
    rate = {"leader.replication.throttled.rate": "5", "failure.interval.ms": "1"}
    here.broker_configs = {"1": {**rate, "log.cleaner.threads": "1"}, "2": {}, "<default>": rate}


@pytest.mark.parametrize("case", [None, *BLOCKERS])
def test_mg_1_once_kraft_has_the_cluster_nothing_is_said_of_brokers_and_no_command_is_printed(case: str | None) -> None:
    """In step 5 brokers in KRaft mode are not registered in ZooKeeper, which holds a copy of all else."""

    def both(state: State) -> None:
        if case is not None:
            BLOCKERS[case][0](state)
        under_kraft(state)

    told = found(both)
    assert [one for one in told if one.commands] == []
    assert {one.subject for one in told if one.level is Level.UNSAFE} == {"migration", "leases"}
    [taken] = [one for one in told if one.subject == "migration"]
    assert "the KRaft controller 3000 has the cluster (/controller, epoch 7)" in taken.text
    texts = " ".join(f"{one.text} {one.advice}" for one in told)
    assert not re.search(
        r"`kafka-reassign(?!-rpc)[^`]*(--cancel|--execute|throttle)|leave|plan heal|delete /|lost", texts
    )
    [lease] = [one for one in told if one.subject == "leases"]
    assert "brokers/1 (leader.replication.throttled.rate=5). Nothing" in lease.text
    assert "broker 3 is in ZooKeeper mode still" in texts


def test_mg_1_what_the_shell_reads_from_its_input_is_quoted_as_it_wants_it() -> None:
    [line] = Cures("zk:1").shell(("set", "/a", '{"b": 1}'), ("delete", "/c d"))
    assert line == """printf '%s\\n' 'set /a '"'"'{"b": 1}'"'"'' 'delete "/c d"' | zookeeper-shell.sh zk:1"""


@pytest.mark.parametrize("path", ["/config/brokers/x\ndeleteall /brokers", "/a\x1b[2J", """/a'b" c"""])
def test_mg_1_a_path_that_would_be_another_command_is_in_none(path: str) -> None:
    assert CURES.delete([path]) == CURES.elect([path]) == ()


def test_mg_1_credentials_are_not_printed_in_a_command() -> None:
    mixed = {"SCRAM-SHA-256": CREDENTIAL, "producer_byte_rate": "x"}
    [blocker] = [one for one in found(client("users/a", **mixed)) if one.level is Level.UNSAFE]
    assert blocker.commands == ()


def test_mg_1_what_others_have_written_is_one_word_of_a_printed_command() -> None:
    evil = "b; touch /tmp/x:9092"
    cures = Cures("zk:1", Connection(evil))
    lines = [*cures.heal(), *cures.cancel(), *cures.delete(["/a`id`"])]
    words = [shlex.split(line, posix=True) for line in lines]
    assert sum(evil in found for found in words) == len(lines) - 2, "all but the plan, which asks nobody, and the shell"
    assert words[-1][-2:] == ["delete", "/a`id`"]
