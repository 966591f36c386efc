"""The settings of the server: the one catalogue from which `serve --help`, its reader and the documentation are made.

A setting with `dynamic=True` is only the server's default. One of `core.settings.server_settings` has a value for all
servers that takes precedence (`kafka-reassign settings`); one of Kafka's is a dynamic config of all brokers.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kafka_reassign_rpc.cli.cluster_settings import FRONT_SETTINGS, WATCHED_SETTINGS
from kafka_reassign_rpc.cli.connection_settings import CONNECTION_SETTINGS
from kafka_reassign_rpc.cli.http_settings import HTTP_SETTINGS, PROCESS, USERS_FILE
from kafka_reassign_rpc.cli.long_running import LEVELS, LOG_FORMATS, TEXT
from kafka_reassign_rpc.cli.security_settings import LISTENERS_OF_KAFKA_CONFIG, SECURITY_SETTINGS, security_properties
from kafka_reassign_rpc.cli.settings_reader import SECRET_FILES, Setting, in_group
from kafka_reassign_rpc.cli.value_parsers import (
    OneOf,
    authorizer_class,
    listeners,
    of_kind,
    super_users,
    text,
    text_or_empty,
    true_or_false,
    whole,
    zookeeper_connect,
)
from kafka_reassign_rpc.cli.webhook_settings import WEBHOOK_SETTINGS
from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.controller.duties import progress_sampling
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.telemetry import event_log
from kafka_reassign_rpc.core.config_values import INT16, INT32
from kafka_reassign_rpc.core.settings.broker_settings import AUTHORIZER
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS, is_of_healing
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.security.secret_files import WEBHOOK_SECRET, SecretFile, named_files

_SERVER = ServerConfig(zookeeper_connect="", listeners=())
"""With the defaults of its room."""
_OF_BROKERS = "what most brokers were started with; Kafka's default until that is known"

OWN_CLUSTER = "own.cluster"
ZOOKEEPER, KRAFT = "zookeeper", "kraft"
CORE_DUMPS = "core.dumps"
"""Names of settings."""


def _of_all_servers(*, of_healing: bool) -> Iterator[Setting]:
    """The settings that all servers share and that one may have a default for."""
    for one in SERVER_SETTINGS.values():
        if one.metavar and is_of_healing(one.name) == of_healing:
            parse = of_kind(one.kind)
            yield Setting(one.name, parse, one.value, one.documentation, dynamic=True, metavar=one.metavar)


_OF_CLUSTER = in_group(
    "the cluster and its ZooKeeper",
    Setting(
        "zookeeper.connect",
        zookeeper_connect,
        None,
        "The ZooKeeper servers of the cluster, with the chroot if the cluster has one. If neither it nor"
        " bootstrap.server is set, serve starts a cluster of its own.",
        metavar="HOST:PORT[,…][/CHROOT]",
        of_kafka=True,
    ),
    Setting(
        OWN_CLUSTER,
        OneOf(ZOOKEEPER, KRAFT),
        ZOOKEEPER,
        "The cluster that serve starts where it is given none, and ends with itself. zookeeper: a ZooKeeper and six"
        " simulated brokers. kraft: three brokers of Apache Kafka in KRaft mode, whose jars Maven fetches once, with"
        " two topics.",
    ),
    Setting(
        "zookeeper.session.timeout.ms",
        whole(1000),
        _SERVER.session_timeout_ms,
        "Milliseconds after which ZooKeeper ends the server's session if it hears nothing from the server. Another"
        " controller can then be elected. At least 1000.",
        of_kafka=True,
    ),
    Setting(
        "zookeeper.connection.timeout.ms",
        whole(1),
        _SERVER.connection_timeout_ms,
        "Milliseconds for which the server tries to reach ZooKeeper when it starts. After that it ends with exit"
        " code 1.",
        of_kafka=True,
    ),
    Setting(
        "broker.id",
        whole(0, 2**31 - 1),
        _SERVER.server_id,
        "The id of this server in the cluster's metadata. No broker, also none that is down, and no other server may"
        " have the same id.",
        metavar="ID",
    ),
)
_OF_LISTENERS = in_group(
    "listeners",
    Setting(
        "listeners",
        listeners,
        (Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092),),
        "The addresses on which the server accepts connections, separated by commas. Port 0 picks a free port. The name"
        " of a listener is its security protocol, unless listener.security.protocol.map says another one.",
        metavar="NAME://HOST:PORT[,…]",
        default_words="PLAINTEXT://127.0.0.1:9092",
        of_kafka=True,
        of_kafka_if=LISTENERS_OF_KAFKA_CONFIG,
    ),
    Setting(
        "advertised.listeners",
        listeners,
        None,
        "The addresses that the server gives to clients and brokers, one for each of listeners. One without a host, as"
        " PLAINTEXT://:9092, has the name of this host. 0.0.0.0 and :: are refused, as Kafka refuses 0.0.0.0.",
        metavar="NAME://HOST:PORT[,…]",
        default_words="the addresses of listeners",
        of_kafka=True,
        of_kafka_if=LISTENERS_OF_KAFKA_CONFIG,
    ),
    Setting(
        "inter.broker.listener.name",
        text,
        None,
        "The name of the brokers' listener to which the controller connects.",
        metavar="NAME",
        default_words="the first listener of each broker",
        of_kafka=True,
    ),
)
_OF_AUTHORIZATION = in_group(
    "authorization",
    Setting(
        AUTHORIZER,
        authorizer_class,
        None,
        "The authorizer that decides who may do what: kafka.security.authorizer.AclAuthorizer, with the ACLs in"
        " ZooKeeper that kafka-acls.sh writes. Brokers and server need the same.",
        metavar="CLASS",
        default_words="none: any client may do everything, if no broker has one either",
        of_kafka=True,
    ),
    Setting(
        "super.users",
        super_users,
        frozenset(),
        "The principals who may do everything, separated by semicolons. Those of the brokers have to be among them, or"
        " have ACLs that allow CLUSTER_ACTION on the cluster.",
        metavar="User:NAME[;…]",
        default_words="none",
        of_kafka=True,
    ),
    Setting(
        "allow.everyone.if.no.acl.found",
        true_or_false,
        False,
        "Whether everybody may do everything to a resource about which there is no ACL.",
        of_kafka=True,
    ),
    Setting(
        "authorizer.zookeeper.url",
        zookeeper_connect,
        None,
        "The ZooKeeper with the ACLs, where that is not the cluster's. The login is that of zookeeper.connect.",
        metavar="HOST:PORT[,…][/CHROOT]",
        default_words="zookeeper.connect",
        of_kafka=True,
    ),
    Setting(
        "authorizer.zookeeper.session.timeout.ms",
        whole(1000),
        None,
        "Milliseconds after which authorizer.zookeeper.url ends the server's session if it hears nothing.",
        default_words="zookeeper.session.timeout.ms",
        of_kafka=True,
    ),
    Setting(
        "authorizer.zookeeper.connection.timeout.ms",
        whole(1),
        None,
        "Milliseconds for which the server tries to reach authorizer.zookeeper.url when it starts.",
        default_words="zookeeper.connection.timeout.ms",
        of_kafka=True,
    ),
)
_OF_CONTROLLER = in_group(
    "the controller",
    Setting(
        "controller.takeover",
        OneOf(*Takeover),
        _SERVER.takeover.value,
        "When this server becomes the controller. never: it stands by, answers reads, and sends clients to the"
        " controller. vacant: when there is no controller. always: also when this server starts while a stock broker is"
        " the controller.",
    ),
    Setting(
        "delete.topic.enable",
        true_or_false,
        None,
        "Whether topics can be deleted. If not, DeleteTopics is refused, and the controller removes marks in"
        " /admin/delete_topics without deleting their topics. All servers and brokers need the same value.",
        default_words="what most brokers were started with; until that is known, nothing is deleted",
        of_kafka=True,
    ),
    Setting(
        "broker.authorizer",
        OneOf("refuse", "ignore"),
        "refuse",
        "What a server without authorizer.class.name does where a broker has an authorizer, or may have one because no"
        " broker, or not every one, has said so yet. refuse: it does nothing that needs a right"
        " (CLUSTER_AUTHORIZATION_FAILED), and does not control brokers that have one. ignore: any client may do"
        " what the brokers refuse, except quotas, SCRAM credentials and ACLs.",
    ),
    Setting(
        "broker.policies",
        OneOf("refuse", "ignore"),
        "refuse",
        "What the server does where a broker has create.topic.policy.class.name or alter.config.policy.class.name: it"
        " cannot run these Java classes. refuse: it refuses CreateTopics or changes of configs (POLICY_VIOLATION)."
        " ignore: it does what clients want without a check.",
    ),
    Setting(
        "auto.leader.rebalance.enable",
        true_or_false,
        None,
        "Whether the controller elects preferred leaders from time to time.",
        default_words=_OF_BROKERS,
        of_kafka=True,
    ),
    Setting(
        "leader.imbalance.check.interval.seconds",
        whole(1, INT32),
        None,
        "Seconds between two checks for partitions that their preferred leader does not lead.",
        default_words=_OF_BROKERS,
        of_kafka=True,
    ),
    Setting(
        "leader.imbalance.per.broker.percentage",
        whole(0, 100),
        None,
        "The controller elects preferred leaders for a broker when the broker does not lead more than this percentage"
        " of the partitions of which it is the preferred leader.",
        metavar="PERCENT",
        default_words=_OF_BROKERS,
        of_kafka=True,
    ),
    Setting(
        "unclean.leader.election.enable",
        true_or_false,
        None,
        "Whether a replica that is not in sync may lead a partition of which no replica in sync lives. Records may be"
        " lost then. The config of a topic comes first.",
        dynamic=True,
        default_words=_OF_BROKERS,
        of_kafka=True,
    ),
)
_OF_TOPICS = in_group(
    "topics",
    Setting(
        "num.partitions",
        whole(1, INT32),
        None,
        "The number of partitions of a new topic whose creator does not say it.",
        metavar="PARTITIONS",
        default_words=_OF_BROKERS,
        of_kafka=True,
    ),
    Setting(
        "default.replication.factor",
        whole(1, INT16),
        None,
        "The number of replicas of each partition of a new topic whose creator does not say it.",
        metavar="REPLICAS",
        default_words=_OF_BROKERS,
        of_kafka=True,
    ),
    Setting(
        "min.insync.replicas",
        whole(1, INT32),
        None,
        "The number of replicas in sync that producers need, where a topic does not say it. A move may not get another"
        " target that could leave fewer.",
        dynamic=True,
        metavar="REPLICAS",
        default_words=_OF_BROKERS,
        of_kafka=True,
    ),
)
_OF_REASSIGNMENTS = in_group(
    "reassignments",
    *_of_all_servers(of_healing=False),
    Setting(
        progress_sampling.INTERVAL,
        whole(0),
        round(_SERVER.sampling.interval_s * 1000),
        "Milliseconds between two samples of how much the moves have copied. With more than"
        f" {progress_sampling.MOVES_PER_INTERVAL} moves in flight the server asks the brokers less often. 0: it never"
        " asks.",
        metavar="MS",
    ),
    Setting(
        progress_sampling.STALL_TIMEOUT,
        whole(1),
        round(_SERVER.sampling.stall_s * 1000),
        "Milliseconds without progress after which the server reports a move as stalled.",
        metavar="MS",
    ),
)
_OF_FILES = in_group(
    PROCESS,
    Setting(
        "data.dir",
        text,
        ".data",
        "The directory for the event log and, without zookeeper.connect, for the ZooKeeper and the simulated brokers"
        " that serve starts.",
        metavar="DIR",
    ),
    Setting(
        "event.log.dir",
        text_or_empty,
        None,
        "The directory for the event log: every decision with the client that asked for it, as JSON lines. An empty"
        " value keeps no event log.",
        metavar="DIR",
        default_words="events-ID in data.dir, with broker.id for ID",
    ),
    Setting(
        "event.log.file.bytes",
        whole(65_536),
        event_log.FILE_BYTES,
        "The size that a file of the event log has at most, in bytes. At least 65536.",
    ),
    Setting(
        "event.log.files",
        whole(2),
        event_log.FILES,
        "The number of files with decisions that the event log keeps. The server deletes the oldest. At least 2.",
        metavar="FILES",
    ),
    Setting(
        "event.log.refusals.files",
        whole(2),
        event_log.REFUSAL_FILES,
        "The number of files with refusals that the event log keeps as well: refusals, which anybody can cause,"
        " push no decision out. At least 2.",
        metavar="FILES",
    ),
    Setting(
        "event.log.group.read",
        true_or_false,
        False,
        "Whether the group of event log files may read them (modes 0640, and 0750 of the folder), as well as their"
        " owner (0600, and 0700). The group is that of the process, or of the folder where that has the setgid bit.",
    ),
)
_OF_PROCESS = in_group(
    PROCESS,
    Setting(
        "log.level",
        OneOf(*LEVELS),
        "INFO",
        f"The lowest level that the server logs on standard error: one of {', '.join(LEVELS)}.",
        metavar="LEVEL",
    ),
    Setting(
        "log.format",
        OneOf(*LOG_FORMATS),
        TEXT,
        "The log on standard error: lines of text, or a JSON object on each line with ts, level, logger, message and,"
        " where there is one, exception.",
    ),
    Setting(
        CORE_DUMPS,
        true_or_false,
        False,
        "Whether a crash may leave a core dump, and other processes of the same user may look into this one. A dump"
        " holds private keys and passwords. Without one a crash writes the Python stacks of all threads to standard"
        " error.",
    ),
    Setting(
        "loop",
        OneOf("auto", "uvloop", "asyncio"),
        "auto",
        "The event loop: uvloop, asyncio, or auto for uvloop where it is installed and asyncio otherwise.",
    ),
)

SETTINGS: tuple[Setting, ...] = (
    *_OF_CLUSTER,
    *_OF_LISTENERS,
    *SECURITY_SETTINGS,
    *_OF_AUTHORIZATION,
    *_OF_CONTROLLER,
    *_OF_TOPICS,
    *_OF_REASSIGNMENTS,
    *in_group("self-healing", *_of_all_servers(of_healing=True)),
    *CONNECTION_SETTINGS,
    *_OF_FILES,
    *HTTP_SETTINGS,
    *WEBHOOK_SETTINGS,
    *_OF_PROCESS,
    *WATCHED_SETTINGS,
    *FRONT_SETTINGS,
)

_OF_WATCH: dict[str, dict[str, Any]] = {
    "metrics.listener": {"default": ("127.0.0.1", 8090), "default_words": "127.0.0.1:8090"},
    "event.log.dir": {"default_words": "no event log is kept"},
}
SETTINGS_OF_WATCH: tuple[Setting, ...] = tuple(one._replace(**_OF_WATCH.get(one.name, {})) for one in SETTINGS)
"""With the defaults of a process that only looks."""


def secret_files(values: Mapping[str, Any]) -> Iterator[SecretFile]:
    """Takes the values that were read from --config and --kafka-config."""
    yield from values[SECRET_FILES]
    own = {name: values[name] for name in (USERS_FILE, WEBHOOK_SECRET)}
    yield from named_files({**security_properties(values), **own})
