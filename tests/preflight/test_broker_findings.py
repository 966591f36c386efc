"""What the check makes of the brokers' answers, value by value."""

from collections.abc import Sequence

import pytest

from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.preflight import restart_findings
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.broker_findings import findings
from kafka_reassign_rpc.preflight.findings import Level, warning
from kafka_reassign_rpc.protocol.versions import ApiKey

REMOTE = {"t": {"remote.storage.enable": "true"}}
TIERED = {"remote.log.storage.system.enable": "true"}
HERE = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092)
FAR = Endpoint("PLAINTEXT", "PLAINTEXT", "broker.example", 9092)
Versions = dict[int, tuple[int, int]]

KAFKA_3_9: Versions = {
    ApiKey.LEADER_AND_ISR: (0, 7),
    ApiKey.STOP_REPLICA: (0, 4),
    ApiKey.UPDATE_METADATA: (0, 8),
}
DIRS = (("/data", 0),)
CONFIGS = {"inter.broker.protocol.version": "3.9-IV0", "inter.broker.listener.name": "PLAINTEXT"}


def judged(
    *configs: dict[str, str],
    versions: Versions | None = None,
    at: Endpoint = HERE,
    listener: str | None = None,
    advertised: Endpoint = HERE,
    marks: tuple[str, ...] = (),
    deletes: bool = True,
    obeys: bool | None = True,
    log_dirs: Sequence[tuple[str, int]] | None = DIRS,
) -> dict[str, Level]:
    """The level of every subject that is not OK. `configs`: those of each broker, besides CONFIGS."""
    answers = [
        BrokerAnswer(Broker(index, 1, (at,)), at, "", versions or KAFKA_3_9, CONFIGS | one, obeys, log_dirs=log_dirs)
        for index, one in enumerate(configs or ({},), start=1)
    ]
    found = findings(answers, [advertised], listener, marks, balances=True, deletes=deletes, refuses=True)
    return {one.subject: one.level for one in found if one.level is not Level.OK}


def test_sv_4_brokers_of_kafka_3_9_are_safe_and_older_ones_down_to_2_8_a_warning() -> None:
    assert judged() == {}
    oldest: Versions = {
        ApiKey.LEADER_AND_ISR: (0, 5),
        ApiKey.STOP_REPLICA: (0, 3),
        ApiKey.UPDATE_METADATA: (0, 7),
    }
    assert judged({"inter.broker.protocol.version": "2.8-IV1"}, versions=oldest) == {"protocol": Level.WARNING}


@pytest.mark.parametrize("version", ["2.7-IV2", "4.0-IV0", "0.11.0-IV2", "nonsense"])
def test_sv_4_another_inter_broker_protocol_is_unsafe(version: str) -> None:
    assert judged({"inter.broker.protocol.version": version}) == {"protocol": Level.UNSAFE}


def test_sv_4_brokers_in_the_middle_of_an_upgrade_are_a_warning() -> None:
    assert judged({}, {"inter.broker.protocol.version": "3.4-IV0"}) == {"protocol": Level.WARNING}


def test_sv_4_a_broker_in_kraft_mode_is_unsafe() -> None:
    assert judged(versions={ApiKey.METADATA: (0, 12)}) == {"versions": Level.UNSAFE}
    of_2_7: dict[int, tuple[int, int]] = {
        ApiKey.LEADER_AND_ISR: (0, 4),
        ApiKey.STOP_REPLICA: (0, 3),
        ApiKey.UPDATE_METADATA: (0, 6),
    }
    assert judged(versions=of_2_7) == {"versions": Level.UNSAFE}


@pytest.mark.parametrize("name", ["inter.broker.listener.name", "control.plane.listener.name"])
def test_sv_4_brokers_that_look_for_a_controller_on_a_listener_that_the_server_lacks_are_unsafe(name: str) -> None:
    assert judged({name: "INTERNAL"}) == {"listeners": Level.UNSAFE}


def test_sv_4_an_address_that_brokers_on_other_hosts_cannot_reach_is_unsafe() -> None:
    assert judged(at=FAR) == {"listeners": Level.UNSAFE}
    anywhere = Endpoint("PLAINTEXT", "PLAINTEXT", "0.0.0.0", 9092)
    assert judged(at=FAR, advertised=anywhere) == {"listeners": Level.UNSAFE}
    assert judged(at=FAR, advertised=FAR) == {}


def test_sv_4_brokers_without_the_listener_that_the_server_is_to_use_are_unsafe() -> None:
    assert judged(listener="INTERNAL") == {"brokers": Level.UNSAFE}


def test_sv_4_listeners_of_clients_that_the_server_or_a_broker_lacks_are_warnings() -> None:
    internal, client, outside = (Endpoint(name, "PLAINTEXT", "127.0.0.1", 1) for name in ("INTERNAL", "CLIENT", "OUT"))
    configs = CONFIGS | {"inter.broker.listener.name": "INTERNAL"}

    def found(advertised: list[Endpoint], *brokers: tuple[Endpoint, ...]) -> dict[str, str]:
        answers = [
            BrokerAnswer(Broker(index, 1, endpoints), endpoints[0], "", KAFKA_3_9, configs, log_dirs=DIRS)
            for index, endpoints in enumerate(brokers, start=1)
        ]
        judged = findings(answers, advertised, None, (), balances=True, deletes=True, refuses=True)
        return {one.subject: one.text for one in judged if one.level is Level.WARNING}

    alike = (internal, client), (client, internal)
    assert found([internal, client], *alike) == {}
    missing = {"client-listeners": "clients that come to the brokers on CLIENT find no controller there"}
    assert found([internal], *alike) == missing
    unlike = {"unlike-listeners": "broker 3 has no listener CLIENT; brokers 1, 2 have no listener OUT"}
    assert found([internal, client, outside], *alike, (internal, outside)) == unlike


def test_sv_5_brokers_that_do_not_take_this_principal_as_a_controller_are_unsafe() -> None:
    assert judged(obeys=False) == {"cluster-action": Level.UNSAFE}
    assert judged(obeys=None) == {}, "a broker that does not say is not accused"


def test_sv_5_a_broker_that_does_not_tell_what_it_holds_is_named_with_the_right_that_is_missing() -> None:
    assert judged(log_dirs=None) == {"log-dirs": Level.WARNING}


@pytest.mark.parametrize("name", ["create.topic.policy.class.name", "alter.config.policy.class.name"])
def test_sv_4_policies_that_only_java_can_run_are_a_warning(name: str) -> None:
    assert judged({name: "com.example.Policy"}) == {"policies": Level.WARNING}


@pytest.mark.parametrize(
    ("refuses", "told"), [(True, "so it refuses to create topics"), (False, "nothing checks the topics and configs")]
)
def test_sv_4_the_check_says_what_the_server_will_do_about_policies(refuses: bool, told: str) -> None:
    configs = CONFIGS | {"create.topic.policy.class.name": "com.example.Policy"}
    answer = BrokerAnswer(Broker(1, 1, (HERE,)), HERE, "", KAFKA_3_9, configs, True)
    found = findings([answer], [HERE], None, (), balances=True, deletes=True, refuses=refuses)
    [text] = [f"{one.text} {one.advice}" for one in found if one.subject == "policies"]
    assert told in text
    assert ("start it with --broker-policies ignore" in text) is refuses


def test_sv_4_marks_of_deletion_are_unsafe_where_brokers_forbid_deletion() -> None:
    assert judged({"delete.topic.enable": "false"}, marks=("t",)) == {"deletions": Level.UNSAFE}
    assert judged({"delete.topic.enable": "false"}) == {}
    assert judged({"delete.topic.enable": "false"}, marks=("t",), deletes=False) == {}, "the server learns it"


def test_sv_4_other_settings_of_the_brokers_than_of_the_server_are_warnings() -> None:
    assert judged({"auto.leader.rebalance.enable": "false"}) == {"leader-balance": Level.WARNING}
    assert judged({"zookeeper.metadata.migration.enable": "true"}) == {"migration": Level.WARNING}


@pytest.mark.parametrize(
    ("brokers", "level", "word"),
    [
        ([TIERED, TIERED], Level.OK, "can start"),
        ([TIERED, {}], Level.WARNING, "t (remote.storage.enable=true, and a broker has no tiered storage)"),
        ([TIERED, None], Level.WARNING, "not known whether every broker has tiered storage"),
        ([], Level.WARNING, "not known whether every broker has tiered storage"),
    ],
)
def test_hm_1_remote_storage_of_a_topic_is_held_against_every_broker(
    brokers: list[dict[str, str] | None], level: Level, word: str
) -> None:
    answers = [
        BrokerAnswer(Broker(index, 1, (HERE,)), HERE, "" if one is not None else "silent", configs=one or {})
        for index, one in enumerate(brokers, start=1)
    ]
    (found,) = restart_findings.of_topics(REMOTE, answers, warning)
    assert found.level is level
    assert word in found.text
    assert all(one.level is Level.OK for one in restart_findings.of_topics({"t": {}}, answers, warning))
