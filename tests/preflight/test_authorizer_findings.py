"""What the check makes of the authorizers of brokers and server, and of the brokers' own rights."""

from kafka_reassign_rpc.core.acls.acl_authorizer import CLASS_NAME, AclAuthorizer
from kafka_reassign_rpc.core.acls.acl_binding import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.core.state.cluster import Broker, Endpoint
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.authorizer_findings import findings
from kafka_reassign_rpc.preflight.findings import Level
from tests.core.acls.random_acls import put

HERE = Endpoint("PLAINTEXT", "PLAINTEXT", "10.0.0.9", 9092)
SECURE = Endpoint("SECURE", "SASL_SSL", "10.0.0.9", 9093)
HAVE = {"authorizer.class.name": CLASS_NAME}


def judged(
    authorizer: AclAuthorizer | None, *configs: dict[str, str], host: str = "10.0.0.1"
) -> list[tuple[Level, str]]:
    at = Endpoint("PLAINTEXT", "PLAINTEXT", host, 9092)
    answers = [BrokerAnswer(Broker(index, 1, (at,)), at, "", {}, one) for index, one in enumerate(configs, start=1)]
    return [(one.level, one.text) for one in findings(answers, [HERE, SECURE], authorizer)]


def authorizer(*supers: str, host: str | None = None) -> AclAuthorizer:
    made = AclAuthorizer(supers)
    if host is not None:
        entry = AccessControlEntry("User:*", host, AclOperation.CLUSTER_ACTION, AclPermissionType.ALLOW)
        put(made, [AclBinding(ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL), entry)])
    made.loaded = True
    return made


def test_sv_5_brokers_with_an_authorizer_are_unsafe_under_a_server_without_one() -> None:
    assert judged(None, {}, {"authorizer.class.name": ""}) == []
    ((level, text),) = judged(None, {}, HAVE)
    assert level is Level.UNSAFE
    assert text.startswith(f"brokers 2 have authorizer.class.name={CLASS_NAME}, and the server has none")


def test_sv_5_brokers_that_decide_otherwise_than_the_server_are_a_warning() -> None:
    made = authorizer("User:ANONYMOUS")
    assert judged(made, HAVE, HAVE) == [(Level.OK, "brokers 1, 2 may do as User:ANONYMOUS what brokers do")]
    assert [level for level, _ in judged(made, HAVE, {})] == [Level.WARNING, Level.OK]
    assert [level for level, _ in judged(made, {"authorizer.class.name": "org.Acl"})] == [Level.WARNING, Level.OK]


def test_sv_5_brokers_whose_principal_may_not_act_are_unsafe() -> None:
    (refused,) = judged(authorizer("User:broker"), HAVE)
    assert refused[0] is Level.UNSAFE
    assert refused[1].startswith("brokers 1 would come as User:ANONYMOUS, who lacks CLUSTER_ACTION on the cluster")
    assert judged(authorizer(host="*"), HAVE)[0][0] is Level.OK
    assert judged(authorizer(host="10.0.0.1"), HAVE)[0][0] is Level.OK
    assert judged(authorizer(host="10.0.0.1"), HAVE, host="10.0.0.2")[0][0] is Level.UNSAFE
    assert judged(authorizer(host="10.0.0.1"), HAVE, host="broker.example")[0][0] is Level.UNSAFE


def test_sv_5_who_authenticates_is_known_to_the_broker_alone() -> None:
    (found,) = judged(authorizer(), {**HAVE, "inter.broker.listener.name": "SECURE"})
    assert found[0] is Level.WARNING
    assert found[1].startswith("as whom brokers 1 would come is known to them alone")


def test_sv_5_acls_that_cannot_be_read_are_unsafe() -> None:
    assert [level for level, _ in judged(AclAuthorizer(["User:ANONYMOUS"]), HAVE)] == [Level.UNSAFE]
