"""The settings of the server: the one catalogue from which `serve --help`, its reader and the documentation are made.

A setting with `dynamic=True` is only the server's default: the dynamic config of the same name, set for the whole
cluster (`kafka-configs.sh --entity-type brokers --entity-default`), takes precedence.
"""

from kafka_reassign_rpc.cli.http_settings import HTTP_SETTINGS, PROCESS
from kafka_reassign_rpc.cli.long_running import LEVELS
from kafka_reassign_rpc.cli.security_settings import LISTENERS_OF_KAFKA_CONFIG, SECURITY_SETTINGS
from kafka_reassign_rpc.cli.settings_reader import Setting
from kafka_reassign_rpc.cli.value_parsers import (
    authorizer_class,
    counts_by_address,
    listeners,
    one_of,
    super_users,
    text,
    text_or_empty,
    true_or_false,
    whole,
    zookeeper_connect,
)
from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.controller.duties import progress_sampling
from kafka_reassign_rpc.core import reassignment_settings
from kafka_reassign_rpc.core.broker_settings import AUTHORIZER
from kafka_reassign_rpc.core.config_values import INT16, INT32
from kafka_reassign_rpc.core.healing import healing_settings
from kafka_reassign_rpc.core.healing.healing_settings import HealingSettings
from kafka_reassign_rpc.core.healing.healing_throttle import HealingThrottle
from kafka_reassign_rpc.core.state.cluster import Endpoint
from kafka_reassign_rpc.core.throttling.observed_throughput import ASSUMED
from kafka_reassign_rpc.server import file_descriptors
from kafka_reassign_rpc.server.server_limits import LEAST_PER_IP, ServerLimits

_HEALING = HealingSettings()
_LIMITS = ServerLimits()
_OF_BROKERS = "what most brokers were started with; Kafka's default until that is known"
_UNLIMITED = f"{2**31 - 1}, in effect no limit"

CLUSTER = "the cluster and its ZooKeeper"
LISTENERS = "listeners"
AUTHORIZATION = "authorization"
CONTROLLER = "the controller"
TOPICS = "topics"
REASSIGNMENTS = "reassignments"
SELF_HEALING = "self-healing"
CONNECTIONS = "limits on connections and requests"

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "zookeeper.connect",
        zookeeper_connect,
        None,
        "The ZooKeeper servers of the cluster, with the chroot if the cluster has one. If it is not set, serve starts"
        " a ZooKeeper and six simulated brokers of its own.",
        group=CLUSTER,
        metavar="HOST:PORT[,…][/CHROOT]",
        of_kafka=True,
    ),
    Setting(
        "zookeeper.session.timeout.ms",
        whole(1000),
        18_000,
        "Milliseconds after which ZooKeeper ends the server's session if it hears nothing from the server. Another"
        " controller can then be elected. At least 1000.",
        group=CLUSTER,
        metavar="MS",
        of_kafka=True,
    ),
    Setting(
        "zookeeper.connection.timeout.ms",
        whole(1),
        30_000,
        "Milliseconds for which the server tries to reach ZooKeeper when it starts. After that it ends with exit"
        " code 1.",
        group=CLUSTER,
        metavar="MS",
        of_kafka=True,
    ),
    Setting(
        "broker.id",
        whole(0, 2**31 - 1),
        1000,
        "The id of this server in the cluster's metadata. No broker and no other server may have the same id.",
        group=CLUSTER,
        metavar="ID",
    ),
    Setting(
        "listeners",
        listeners,
        (Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092),),
        "The addresses on which the server accepts connections, separated by commas. Port 0 picks a free port. The name"
        " of a listener is its security protocol, unless listener.security.protocol.map says another one.",
        group=LISTENERS,
        metavar="NAME://HOST:PORT[,…]",
        default_words="PLAINTEXT://127.0.0.1:9092",
        of_kafka=True,
        of_kafka_if=LISTENERS_OF_KAFKA_CONFIG,
    ),
    Setting(
        "advertised.listeners",
        listeners,
        None,
        "The addresses that the server gives to clients and brokers, one for each of listeners.",
        group=LISTENERS,
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
        group=LISTENERS,
        metavar="NAME",
        default_words="the first listener of each broker",
        of_kafka=True,
    ),
    *SECURITY_SETTINGS,
    Setting(
        AUTHORIZER,
        authorizer_class,
        None,
        "The authorizer that decides who may do what: kafka.security.authorizer.AclAuthorizer, with the ACLs in"
        " ZooKeeper that kafka-acls.sh writes. Brokers and server need the same.",
        group=AUTHORIZATION,
        metavar="CLASS",
        default_words="none: whoever reaches the server may do everything",
        of_kafka=True,
    ),
    Setting(
        "super.users",
        super_users,
        frozenset(),
        "The principals who may do everything, separated by semicolons. Those of the brokers have to be among them, or"
        " have ACLs that allow CLUSTER_ACTION on the cluster.",
        group=AUTHORIZATION,
        metavar="User:NAME[;…]",
        default_words="none",
        of_kafka=True,
    ),
    Setting(
        "allow.everyone.if.no.acl.found",
        true_or_false,
        False,
        "Whether everybody may do everything to a resource about which there is no ACL.",
        group=AUTHORIZATION,
        metavar="true|false",
        of_kafka=True,
    ),
    Setting(
        "controller.takeover",
        one_of(*Takeover),
        Takeover.ALWAYS.value,
        "When this server becomes the controller. never: it stands by, answers reads, and sends clients to the"
        " controller. vacant: when there is no controller. always: also when this server starts while a stock broker is"
        " the controller.",
        group=CONTROLLER,
        metavar="never|vacant|always",
    ),
    Setting(
        "delete.topic.enable",
        true_or_false,
        None,
        "Whether topics can be deleted. If not, DeleteTopics is refused, and the controller removes marks in"
        " /admin/delete_topics without deleting their topics. All servers and brokers need the same value.",
        group=CONTROLLER,
        metavar="true|false",
        default_words="what most brokers were started with; until that is known, nothing is deleted",
        of_kafka=True,
    ),
    Setting(
        "broker.policies",
        one_of("refuse", "ignore"),
        "refuse",
        "What the server does where a broker has create.topic.policy.class.name or alter.config.policy.class.name: it"
        " cannot run these Java classes. refuse: it refuses CreateTopics or changes of configs (POLICY_VIOLATION)."
        " ignore: it does what clients want without a check.",
        group=CONTROLLER,
        metavar="refuse|ignore",
    ),
    Setting(
        "auto.leader.rebalance.enable",
        true_or_false,
        None,
        "Whether the controller elects preferred leaders from time to time.",
        group=CONTROLLER,
        metavar="true|false",
        default_words=_OF_BROKERS,
        of_kafka=True,
    ),
    Setting(
        "leader.imbalance.check.interval.seconds",
        whole(1, INT32),
        None,
        "Seconds between two checks for partitions that their preferred leader does not lead.",
        group=CONTROLLER,
        metavar="SECONDS",
        default_words=_OF_BROKERS,
        of_kafka=True,
    ),
    Setting(
        "leader.imbalance.per.broker.percentage",
        whole(0, 100),
        None,
        "The controller elects preferred leaders for a broker when the broker does not lead more than this percentage"
        " of the partitions of which it is the preferred leader.",
        group=CONTROLLER,
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
        group=CONTROLLER,
        metavar="true|false",
        default_words=_OF_BROKERS,
        of_kafka=True,
    ),
    Setting(
        "num.partitions",
        whole(1, INT32),
        None,
        "The number of partitions of a new topic whose creator does not say it.",
        group=TOPICS,
        metavar="PARTITIONS",
        default_words=_OF_BROKERS,
        of_kafka=True,
    ),
    Setting(
        "default.replication.factor",
        whole(1, INT16),
        None,
        "The number of replicas of each partition of a new topic whose creator does not say it.",
        group=TOPICS,
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
        group=TOPICS,
        metavar="REPLICAS",
        default_words=_OF_BROKERS,
        of_kafka=True,
    ),
    Setting(
        reassignment_settings.REPLICATION_FACTOR_CHANGE_ALLOWED,
        true_or_false,
        True,
        "Whether a reassignment may change the number of a partition's replicas (KIP-860).",
        dynamic=True,
        group=REASSIGNMENTS,
        metavar="true|false",
    ),
    Setting(
        reassignment_settings.MAX_PER_BROKER,
        whole(-1, 2**31 - 1),
        -1,
        "Moves in flight for one broker: moves that add a replica on it, and moves of partitions that it leads. Moves"
        " above the limit wait in the queue. -1: no limit.",
        dynamic=True,
        group=REASSIGNMENTS,
        metavar="MOVES",
    ),
    Setting(
        reassignment_settings.MAX_PER_CLUSTER,
        whole(-1, 2**31 - 1),
        -1,
        "Moves in flight in the whole cluster. Moves above the limit wait in the queue. -1: no limit.",
        dynamic=True,
        group=REASSIGNMENTS,
        metavar="MOVES",
    ),
    Setting(
        reassignment_settings.MAX_BYTES_IN_FLIGHT,
        whole(-1),
        -1,
        "Bytes that all moves in flight have to copy. Moves above the limit wait in the queue. -1: no limit.",
        dynamic=True,
        group=REASSIGNMENTS,
        metavar="BYTES",
    ),
    Setting(
        progress_sampling.INTERVAL,
        whole(0),
        5000,
        "Milliseconds between two samples of how much the moves have copied. With more than"
        f" {progress_sampling.MOVES_PER_INTERVAL} moves in flight the server asks the brokers less often. 0: it never"
        " asks.",
        group=REASSIGNMENTS,
        metavar="MS",
    ),
    Setting(
        progress_sampling.STALL_TIMEOUT,
        whole(1),
        60_000,
        "Milliseconds without progress after which the server reports a move as stalled.",
        group=REASSIGNMENTS,
        metavar="MS",
    ),
    Setting(
        healing_settings.INTERVAL,
        whole(-1, healing_settings.MAX_INTERVAL_MS),
        _HEALING.interval_ms,
        "Milliseconds for which a broker has to be gone before the controller moves its replicas to other brokers."
        " -1: never, self-healing is off.",
        dynamic=True,
        group=SELF_HEALING,
        metavar="MS",
    ),
    Setting(
        healing_settings.ALERT_INTERVAL,
        whole(-1, healing_settings.MAX_INTERVAL_MS),
        _HEALING.alert_interval_ms,
        "Milliseconds for which a broker has to be gone before the server logs an alert, with self-healing on or off."
        " A repair never starts before its alert: where self-healing is on, failure.interval.ms is the upper limit."
        " -1: half of failure.interval.ms, or no alert where self-healing is off.",
        dynamic=True,
        group=SELF_HEALING,
        metavar="MS",
    ),
    Setting(
        healing_settings.MAX_BROKERS,
        whole(0),
        _HEALING.max_brokers,
        "If more brokers than this are gone, the controller starts no repair.",
        dynamic=True,
        group=SELF_HEALING,
        metavar="BROKERS",
    ),
    Setting(
        healing_settings.MAX_PERCENTAGE,
        whole(0, 100),
        _HEALING.max_percentage,
        "If more than this percentage of the brokers is gone, the controller starts no repair.",
        dynamic=True,
        group=SELF_HEALING,
        metavar="PERCENT",
    ),
    Setting(
        healing_settings.THROTTLE,
        HealingThrottle.parse,
        _HEALING.throttle,
        "The replication throttle of repairs for each broker: bytes per second, or a share such as 50% of the observed"
        " replication throughput (the highest rate at which a broker was seen to receive moves that had no throttle;"
        f" {ASSUMED} bytes per second until one was seen). -1: no throttle.",
        dynamic=True,
        group=SELF_HEALING,
        metavar="BYTES/S|SHARE%",
    ),
    Setting(
        healing_settings.CHUNK,
        whole(1),
        _HEALING.chunk,
        "Moves of repairs in flight at a time.",
        dynamic=True,
        group=SELF_HEALING,
        metavar="MOVES",
    ),
    Setting(
        healing_settings.CANCEL_ON_RETURN,
        true_or_false,
        _HEALING.cancel_on_return,
        "Whether the controller cancels a repair's moves in flight when the lost broker comes back. Moves of the repair"
        " that still wait never start then.",
        dynamic=True,
        group=SELF_HEALING,
        metavar="true|false",
    ),
    Setting(
        "max.connections",
        whole(0),
        None,
        "Connections at a time. At the limit a newcomer takes the place of another connection: one that has sent no"
        " request, else the one that has been idle longest. Where all are at work, the server closes the newcomer.",
        group=CONNECTIONS,
        metavar="CONNECTIONS",
        default_words="what file descriptors allow, those for ZooKeeper, brokers and monitoring kept back; at most"
        f" {file_descriptors.MOST_CONNECTIONS}",
    ),
    Setting(
        "max.connections.per.ip",
        whole(0),
        None,
        "Connections at a time from one IP address. At the limit a newcomer takes the place of one that has sent no"
        " request; where there is none, the server closes the newcomer.",
        group=CONNECTIONS,
        metavar="CONNECTIONS",
        default_words=f"a quarter of max.connections, at least {LEAST_PER_IP}",
    ),
    Setting(
        "max.connections.per.ip.overrides",
        counts_by_address,
        {},
        "Other limits than max.connections.per.ip for single IP addresses, such as that of a NAT gateway.",
        group=CONNECTIONS,
        metavar="IP:CONNECTIONS[,…]",
        default_words="none",
    ),
    Setting(
        "max.connection.creation.rate",
        whole(1),
        _LIMITS.max_connection_creation_rate,
        "New connections per second. Connections above the limit wait before the server reads from them.",
        group=CONNECTIONS,
        metavar="CONNECTIONS",
        default_words=_UNLIMITED,
    ),
    Setting(
        "max.connection.creation.rate.per.ip",
        whole(1),
        5000,
        "New connections per second from one IP address. The server closes those above the limit at once.",
        group=CONNECTIONS,
        metavar="CONNECTIONS",
    ),
    Setting(
        "slow.client.timeout.ms",
        whole(1),
        _LIMITS.slow_client_timeout_ms,
        "Milliseconds that a client has for its first request, for the rest of a request that it has begun, and for"
        " reading an answer. After that the server closes the connection. Kafka's clients give a request up after 30000"
        " themselves (request.timeout.ms).",
        group=CONNECTIONS,
        metavar="MS",
    ),
    Setting(
        "connections.max.idle.ms",
        whole(1),
        _LIMITS.connections_max_idle_ms,
        "Milliseconds after which the server closes a connection without requests.",
        group=CONNECTIONS,
        metavar="MS",
    ),
    Setting(
        "connection.failed.authentication.delay.ms",
        whole(0, 600_000),
        _LIMITS.connection_failed_authentication_delay_ms,
        "Milliseconds that the answer to a failed authentication waits. Then the connection closes.",
        group=CONNECTIONS,
        metavar="MS",
        of_kafka=True,
    ),
    Setting(
        "socket.request.max.bytes",
        whole(512),
        _LIMITS.socket_request_max_bytes,
        "The size of the largest request that the server accepts, in bytes. At least 512.",
        group=CONNECTIONS,
        metavar="BYTES",
    ),
    Setting(
        "queued.max.requests",
        whole(1),
        _LIMITS.queued_max_requests,
        "Requests in work at a time, of all connections together. At this number the server stops reading.",
        group=CONNECTIONS,
        metavar="REQUESTS",
    ),
    Setting(
        "data.dir",
        text,
        ".data",
        "The directory for the event log and, without zookeeper.connect, for the ZooKeeper and the simulated brokers"
        " that serve starts.",
        group=PROCESS,
        metavar="DIR",
    ),
    Setting(
        "event.log.dir",
        text_or_empty,
        None,
        "The directory for the event log: every decision with the client that asked for it, as JSON lines. An empty"
        " value keeps no event log.",
        group=PROCESS,
        metavar="DIR",
        default_words="events-ID in data.dir, with broker.id for ID",
    ),
    Setting(
        "event.log.file.bytes",
        whole(65_536),
        16 * 2**20,
        "The size that a file of the event log has at most, in bytes. At least 65536.",
        group=PROCESS,
        metavar="BYTES",
    ),
    Setting(
        "event.log.files",
        whole(2),
        8,
        "The number of files with decisions that the event log keeps. The server deletes the oldest. At least 2.",
        group=PROCESS,
        metavar="FILES",
    ),
    Setting(
        "event.log.refusals.files",
        whole(2),
        2,
        "The number of files with refusals that the event log keeps besides those: refusals, which anybody can cause,"
        " push no decision out. At least 2.",
        group=PROCESS,
        metavar="FILES",
    ),
    *HTTP_SETTINGS,
    Setting(
        "log.level",
        one_of(*LEVELS),
        "INFO",
        f"The lowest level that the server logs on standard error: one of {', '.join(LEVELS)}.",
        group=PROCESS,
        metavar="LEVEL",
    ),
    Setting(
        "loop",
        one_of("auto", "uvloop", "asyncio"),
        "auto",
        "The event loop: uvloop, asyncio, or auto for uvloop where it is installed and asyncio otherwise.",
        group=PROCESS,
        metavar="auto|uvloop|asyncio",
    ),
)
