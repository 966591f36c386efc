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
    parse_super_users,
)
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.authorizer_findings import BrokerLogins, findings
from kafka_reassign_rpc.preflight.findings import Level
from tests.certificates import Authority
from tests.core.acls.random_acls import put
from tests.tables import for_each

HERE = Endpoint("PLAINTEXT", "PLAINTEXT", "10.0.0.9", 9092)
SECURE = Endpoint("SECURE", "SASL_SSL", "10.0.0.9", 9093)
HAVE = {"authorizer.class.name": CLASS_NAME}
NOTHING_KNOWN = BrokerLogins()


def judged(
    authorizer: AclAuthorizer | None,
    *configs: dict[str, str],
    host: str = "10.0.0.1",
    logins: BrokerLogins = NOTHING_KNOWN,
    refuses: bool = True,
    problem: str = "",
) -> list[tuple[Level, str]]:
    at = Endpoint("PLAINTEXT", "PLAINTEXT", host, 9092)
    answers = [
        BrokerAnswer(Broker(index, 1, (at,)), at, problem, {}, one) for index, one in enumerate(configs, start=1)
    ]
    return [(one.level, one.text) for one in findings(answers, [HERE, SECURE], authorizer, logins, refuses=refuses)]


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
    have = f"broker 2 has authorizer.class.name={CLASS_NAME}, and the server has none: "
    assert text == have + "it would not control the cluster, and refuse everything that needs a right"


def test_hm_6_a_server_that_ignores_the_brokers_authorizer_allows_everything_to_every_client() -> None:
    ((level, text),) = judged(None, HAVE, refuses=False)
    assert level is Level.UNSAFE
    assert "with broker.authorizer=ignore any client may do what the brokers refuse" in text


def test_sv_5_brokers_that_decide_otherwise_than_the_server_are_a_warning() -> None:
    made = authorizer("User:ANONYMOUS")
    assert judged(made, HAVE, HAVE) == [(Level.OK, "brokers 1, 2 may do as User:ANONYMOUS what brokers do")]
    assert [level for level, _ in judged(made, HAVE, {})] == [Level.WARNING, Level.OK]
    assert [level for level, _ in judged(made, {"authorizer.class.name": "org.Acl"})] == [Level.WARNING, Level.OK]


def test_sv_5_brokers_whose_principal_may_not_act_are_unsafe() -> None:
    (refused,) = judged(authorizer("User:broker"), HAVE)
    assert refused[0] is Level.UNSAFE
    assert refused[1].startswith("broker 1 would come as User:ANONYMOUS, who lacks CLUSTER_ACTION on the cluster")
    assert judged(authorizer(host="*"), HAVE)[0][0] is Level.OK
    assert judged(authorizer(host="10.0.0.1"), HAVE)[0][0] is Level.OK
    assert judged(authorizer(host="10.0.0.1"), HAVE, host="10.0.0.2")[0][0] is Level.UNSAFE
    assert judged(authorizer(host="10.0.0.1"), HAVE, host="broker.example")[0][0] is Level.UNSAFE


def test_sv_5_who_authenticates_is_unknown_without_settings_of_a_broker() -> None:
    (found,) = judged(authorizer(), {**HAVE, "inter.broker.listener.name": "SECURE"})
    assert found[0] is Level.WARNING
    assert found[1].startswith("the principal of broker 1 is not known here (no --kafka-config has the login")


IN = {**HAVE, "inter.broker.listener.name": "SECURE", "sasl.mechanism.inter.broker.protocol": "PLAIN"}
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
KAFKA = BrokerLogins(
    own={"sasl.enabled.mechanisms": "PLAIN"},
    file={
        "inter.broker.listener.name": "SECURE",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": f'{PLAIN} required username="kafka" password="it is secret";',
    },
)


@for_each(
    ("super_users", "saying"),
    [
        ("", "super.users is empty"),
        ("User:admin,User:kafka", "super.users has the one principal 'User:admin,User:kafka': it looks like a comma"),
        ("User:admin, User:kafka;User:a", "'User:admin, User:kafka': it looks like a comma instead of a semicolon"),
        ("User:CN=a,OU=b,User:kafka", "'User:CN=a,OU=b,User:kafka': it looks like a comma instead of a semicolon"),
        ("User:Kafka", "super.users has 'User:Kafka', which is not the same: letters and blanks count"),
        ("User:admin", "would come as User:kafka, who lacks CLUSTER_ACTION on the cluster"),
    ],
)
@for_each("problem", ["", "no answer"])
def test_hm_6_brokers_who_are_no_super_users_are_unsafe_and_a_slip_is_named(
    super_users: str, saying: str, problem: str
) -> None:
    found = judged(authorizer(*parse_super_users(super_users)), IN, logins=KAFKA, problem=problem)
    (text,) = [text for level, text in found if level is Level.UNSAFE]
    assert saying in text
    assert "ISRs would freeze" in text
    assert "it is secret" not in repr(KAFKA) + text
    has_comma = "," in super_users
    assert [level for level, _ in found] == [Level.WARNING] * has_comma + [Level.UNSAFE]


def test_hm_6_a_name_in_a_distinguished_name_is_no_principal_of_its_own() -> None:
    dn = "User:CN=b1,OU=kafka"
    plain = Endpoint("SECURE", "SSL", "10.0.0.9", 9093)
    at = Endpoint("SECURE", "SSL", "10.0.0.1", 9093)
    shown = Authority("CN=ca").issue("CN=b1,OU=kafka").der
    answer = BrokerAnswer(Broker(1, 1, (at,)), at, "", {}, IN, certificate=shown)
    own = BrokerLogins(own={"ssl.client.auth": "required"})
    for supers, level, saying in (
        (f"User:admin;{dn}", Level.OK, f"broker 1 may do as {dn} what brokers do"),
        (f"User:CN=b0,OU=kafka,{dn}", Level.UNSAFE, "it looks like a comma instead of a semicolon"),
        ("User:CN=b1;User:OU=kafka", Level.UNSAFE, f"would come as {dn}, who lacks CLUSTER_ACTION"),
    ):
        found = list(findings([answer], [plain], authorizer(*parse_super_users(supers)), own, refuses=True))
        assert (found[-1].level, saying in found[-1].text) == (level, True)


def test_hm_6_a_broker_that_does_not_answer_is_never_fine() -> None:
    assert judged(authorizer("User:kafka"), IN, logins=KAFKA, problem="no answer") == []


def test_hm_6_brokers_who_are_super_users_or_have_the_right_are_fine() -> None:
    fine = [(Level.OK, "broker 1 may do as User:kafka what brokers do")]
    assert judged(authorizer("User:kafka"), IN, logins=KAFKA) == fine
    assert judged(authorizer(host="*"), IN, logins=KAFKA) == fine
    comma = judged(authorizer("User:a,User:b", "User:kafka"), IN, logins=KAFKA)
    assert [level for level, _ in comma] == [Level.WARNING, Level.OK]
    named = authorizer("User:CN=kafka,OU=x")
    assert [level for level, _ in judged(named, HAVE)] == [Level.UNSAFE], "a distinguished name has commas"


def test_sv_5_acls_that_cannot_be_read_are_unsafe() -> None:
    assert [level for level, _ in judged(AclAuthorizer(["User:ANONYMOUS"]), HAVE)] == [Level.UNSAFE]
