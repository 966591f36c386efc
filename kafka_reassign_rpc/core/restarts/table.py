"""All that ends a broker at its next start, ends a part of it, or stops a stock controller or a migration to KRaft.

The refusals of requests, the findings of `check` and `check --for-kraft`, and docs/restarts.md all come from this
table. Every row was tried on stock brokers of 3.9.1: `tests/stock/test_restarts.py` has an example of each.
"""

from enum import StrEnum
from typing import NamedTuple


class Victim(StrEnum):
    BROKERS = "brokers at their next start"
    PART = "a part of running brokers"
    ELECTION = "stock controllers"
    MIGRATION = "the migration to KRaft"


class Ending(NamedTuple):
    """`name` and `subject`, the word of the finding, stay the same from version to version.

    source    where the value is stored
    bad       which value, with an example
    read_by   Kafka's class
    victims   whom it hits
    dies      what then happens, as a finding says it
    cure      what an operator does
    refused   the requests to this server that would write it, all refused; empty: none can
    certain   False: it depends on what only brokers know
    """

    name: str
    subject: str
    source: str
    bad: str
    read_by: str
    victims: frozenset[Victim]
    dies: str
    cure: str
    refused: str = ""
    certain: bool = True


_BROKERS = frozenset({Victim.BROKERS})
_PART = frozenset({Victim.PART})
_ELECTION = frozenset({Victim.ELECTION, Victim.MIGRATION})
_MIGRATION = frozenset({Victim.MIGRATION})
_BOTH = frozenset({Victim.BROKERS, Victim.MIGRATION})

_NO_START = "it would not start again"
_OF_BROKERS = "configs of brokers, cluster-wide or of one"
_ALTER = "IncrementalAlterConfigs, AlterConfigs of all brokers"
_OF_TOPICS = "configs of topics"
_ALTER_TOPICS = "CreateTopics, IncrementalAlterConfigs, AlterConfigs of topics"
_NO_BROKER = "no broker starts while they stand"
_DELETE_DEFAULT = "kafka-configs --entity-type brokers --entity-default --alter --delete-config"
_CORRECT_TOPIC = "kafka-configs --entity-type topics --entity-name TOPIC --alter, or delete the topic"
_DEFAULTS, _TOPICS = "default-configs", "topic-configs"

LOG_DEFAULTS = Ending(
    "log-defaults", _DEFAULTS, _OF_BROKERS, "what a topic may not have: `log.flush.interval.ms=-1`",
    "LogManager, LogConfig", frozenset({Victim.BROKERS, Victim.PART}),
    f"no later config of logs would be applied, and {_NO_START}", _DELETE_DEFAULT, _ALTER,
)  # fmt: skip
INDEX_ROOM = Ending(
    "index-room", _DEFAULTS, _OF_BROKERS, "`log.index.size.max.bytes=4`: less than the 12 bytes of an entry",
    "AbstractIndex.createAndAssignMmap", _PART, "it could begin no partition and no segment", _DELETE_DEFAULT, _ALTER,
)  # fmt: skip
COMPACTION_LAGS = Ending(
    "compaction-lags", _DEFAULTS, _OF_BROKERS,
    "`log.cleaner.min.compaction.lag.ms` above `log.cleaner.max.compaction.lag.ms`",
    "LogConfig.validateBrokerLogConfigValues", _BROKERS, _NO_START, _DELETE_DEFAULT, _ALTER,
)  # fmt: skip
REPORTERS = Ending(
    "reporters", _DEFAULTS, _OF_BROKERS, "a class of `metric.reporters` that cannot be configured",
    "Server.initializeMetrics", _BROKERS, f"{_NO_START} if the class cannot be configured there", _DELETE_DEFAULT,
    _ALTER,
)  # fmt: skip
RATES = Ending(
    "rates", _DEFAULTS, _OF_BROKERS, 'a throttle rate with blanks: `leader.replication.throttled.rate=" 5"`',
    "BrokerConfigHandler (toLong)", _BROKERS, _NO_START, _DELETE_DEFAULT, _ALTER,
)  # fmt: skip
CLEANER_MAP = Ending(
    "cleaner-map", _DEFAULTS, _OF_BROKERS, "`log.cleaner.io.buffer.load.factor=0`: no room for a key",
    "LogCleaner.Cleaner", _PART, "its log cleaners would end", _DELETE_DEFAULT, _ALTER,
)  # fmt: skip
CLEANER_BUFFER = Ending(
    "cleaner-buffer", _DEFAULTS, _OF_BROKERS,
    "`log.cleaner.io.buffer.size=0`: fewer than two bytes for each of `log.cleaner.threads`",
    "LogCleaner.Cleaner.growBuffers", _PART, "its log cleaners would spin and clean nothing", _DELETE_DEFAULT, _ALTER,
)  # fmt: skip
CLEANER_RATE = Ending(
    "cleaner-rate", _DEFAULTS, _OF_BROKERS, "`log.cleaner.io.max.bytes.per.second=0`: less than one byte a second",
    "Throttler.maybeThrottle", _PART,
    "its log cleaners would sleep without end, and the next change of configs would wait for them", _DELETE_DEFAULT,
    _ALTER,
)  # fmt: skip
CLEANER_PAUSE = Ending(
    "cleaner-pause", _DEFAULTS, _OF_BROKERS, "`log.cleaner.backoff.ms=0`", "LogCleaner.CleanerThread", _PART,
    "its log cleaners would spin", _DELETE_DEFAULT, _ALTER,
)  # fmt: skip
CLEANER_MEMORY = Ending(
    "cleaner-memory", _DEFAULTS, _OF_BROKERS,
    "more than there is memory for: `log.cleaner.dedupe.buffer.size=9000000000`, `log.cleaner.io.buffer.size`",
    "LogCleaner.CleanerThread, ZkNodeChangeNotificationListener", _PART,
    "without memory for it, its log cleaners and the thread that applies all changes of configs would end",
    _DELETE_DEFAULT, _ALTER,
)  # fmt: skip
UNJUDGED_AT_START = Ending(
    "unjudged-at-start", _DEFAULTS, "cluster-wide configs of brokers in ZooKeeper",
    "what a running broker refuses and a starting one takes: `max.connections=0`, a class of `metric.reporters` that"
    " cannot be loaded", "DynamicBrokerConfig.initialize", frozenset({Victim.BROKERS, Victim.PART}),
    "a broker that starts does not judge it, and ends or takes no connection", _DELETE_DEFAULT,
    _ALTER,
)  # fmt: skip

TOPIC_VALUES = Ending(
    "topic-values", _TOPICS, _OF_TOPICS, "a value that LogConfig refuses: `retention.ms=abc`",
    "LogManager.fetchTopicConfigOverrides, TopicConfigHandler", _BROKERS, _NO_BROKER, _CORRECT_TOPIC, _ALTER_TOPICS,
)  # fmt: skip
TOPIC_INDEX = Ending(
    "topic-index", _TOPICS, _OF_TOPICS, "`segment.index.bytes=4`: less than the 12 bytes of an entry",
    "AbstractIndex.createAndAssignMmap", _PART, "no broker begins a partition or a segment of it", _CORRECT_TOPIC,
    _ALTER_TOPICS,
)  # fmt: skip
TOPIC_REPLICAS = Ending(
    "topic-replicas", _TOPICS, _OF_TOPICS,
    "a list of throttled replicas with other than numbers: `0:1;1:2`, `0:1,,1:2`",
    "TopicConfigHandler.parseThrottledPartitions", _BROKERS, _NO_BROKER, _CORRECT_TOPIC, _ALTER_TOPICS,
)  # fmt: skip
TOPIC_FORMAT = Ending(
    "topic-format", _TOPICS, _OF_TOPICS,
    'a `message.format.version` that brokers do not know, or with blanks: `" 3.0"`',
    "LogConfig.MessageFormatVersion", _BROKERS, _NO_BROKER, _CORRECT_TOPIC, _ALTER_TOPICS,
)  # fmt: skip
TOPIC_TIERED = Ending(
    "topic-tiered", _TOPICS, _OF_TOPICS,
    "`remote.storage.enable=true` where a broker has no tiered storage; `remote.log.copy.disable=true` in ZooKeeper"
    " mode",
    "LogManager.updateTopicConfig", _BROKERS, _NO_BROKER, _CORRECT_TOPIC, _ALTER_TOPICS,
)  # fmt: skip

CONFIG_TEXTS = Ending(
    "config-texts", "configs", "/config/TYPE/NAME", 'a value that is no text: `{"config":{"retention.ms":7}}`',
    "ConfigEntityZNode.decode", _BOTH, "no broker starts while values of configs are no texts, and a migration stops"
    " there", "write them as texts, or delete these znodes",
)  # fmt: skip
CONFIG_JSON = Ending(
    "config-json", "configs", "/config/TYPE/NAME", "anything but a version and an object of configs: `[]`, `{`",
    "ConfigEntityZNode.decode", _MIGRATION,
    "configs cannot be understood, so brokers hold none of them, and a migration takes none over",
    "write them again with a version and a config of texts, or delete these znodes",
)  # fmt: skip
BROKER_NAMES = Ending(
    "broker-names", "broker-configs", "/config/brokers/NAME", "a name that is no number: `none`",
    "BrokerConfigHandler, ZkMigrationClient", _BOTH,
    "no broker starts while /config/brokers has names that are no broker ids, and a migration stops there",
    "delete these znodes",
)  # fmt: skip
CLIENT_NAMES = Ending(
    "client-names", "quotas", "/config/users/NAME, /config/clients/NAME, /config/users/NAME/clients/NAME",
    "a name that is not encoded as for URLs: `50%`", "Sanitizer.desanitize", _BOTH,
    "no broker starts while users or clients have names that cannot be decoded, and a migration stops there",
    "delete these znodes, and set the quotas again with kafka-configs.sh, which encodes names",
)  # fmt: skip
QUOTAS = Ending(
    "quotas", "quotas", "/config/users, /config/clients, /config/ips",
    "a quota that is no number of its kind: `producer_byte_rate=1.5`, `request_percentage=fast`,"
    " `connection_creation_rate=3000000000`",
    "QuotaConfigHandler, IpConfigHandler", _BROKERS, "no broker starts while quotas are no numbers of their kind",
    "correct them, or write these znodes without them", "AlterClientQuotas",
)  # fmt: skip
CREDENTIALS = Ending(
    "credentials", "quotas", "/config/users/NAME", "a SCRAM credential that is none: `SCRAM-SHA-256=salt=a`",
    "ScramCredentialUtils.credentialFromString", _BOTH,
    "no broker starts while SCRAM credentials cannot be read, and a migration stops there",
    "correct them, or write these znodes without them", "AlterUserScramCredentials",
)  # fmt: skip
ADDRESSES = Ending(
    "addresses", "quotas", "/config/ips/NAME", "what is neither an address nor a host: `300.1.1.1`, `%3A%3A1`",
    "IpConfigHandler (InetAddress.getByName)", _BROKERS, "no broker starts while /config/ips has what is no address",
    "delete these znodes", "AlterClientQuotas",
)  # fmt: skip
HOSTS = Ending(
    "hosts", "quotas", "/config/ips/NAME", "a name of a host: `client7.example`", "IpConfigHandler"
    " (InetAddress.getByName)", _BROKERS, "only a broker that finds these hosts starts",
    "set the quotas for addresses instead, and delete these znodes", "AlterClientQuotas", certain=False,
)  # fmt: skip
CLIENT_NUMBERS = Ending(
    "client-numbers", "quotas", "/config/users, /config/clients, /config/ips",
    "any other config that is no number, a credential of a client or of all users that is none",
    "ZkConfigMigrationClient", _MIGRATION, "a migration stops at configs of clients that it cannot read",
    "correct them, or write these znodes without them",
)  # fmt: skip
CHANGES = Ending(
    "changes", "config-changes", "/config/changes, /kafka-acl-changes, /kafka-acl-extended-changes",
    "a name without a number, `config_change_` and the like left out: `note`", "ZkNodeChangeNotificationListener",
    _PART, "brokers apply no later change that is announced there", "delete these znodes",
)  # fmt: skip

CLUSTER_ID = Ending(
    "cluster-id", "cluster-id", "/cluster/id", "deleted, unreadable, or of another cluster", "KafkaServer.startup",
    _BROKERS, "no broker starts that has another id in its meta.properties",
    'write {"version":"1","id":"…"} with the cluster.id of a broker\'s meta.properties',
)  # fmt: skip
REGISTRATIONS = Ending(
    "registrations", "registrations", "/brokers/ids/NAME", "a name or content that is no registration: `foo`, `{}`",
    "KafkaZkClient.getAllBrokersInCluster", frozenset({Victim.BROKERS, Victim.ELECTION, Victim.MIGRATION}),
    "no broker starts, and no stock broker becomes controller, while it exists",
    "restart these brokers, or remove what is no broker from /brokers/ids",
)  # fmt: skip
INTERNAL_TOPICS = Ending(
    "internal-topics", "internal-topics", "/brokers/topics/__consumer_offsets, /brokers/topics/__transaction_state",
    'partitions that are none: `{"partitions":{"a":[1]}}`', "KafkaZkClient.getTopicPartitionCount", _BOTH,
    "no broker starts while they cannot be understood",
    "repair them with the partitions that the brokers' log dirs have",
)  # fmt: skip
TOPICS = Ending(
    "topics", "topics", "/brokers/topics/NAME", "partitions, replicas or an id that are none",
    "KafkaController.initializeControllerContext, ZkTopicMigrationClient", _ELECTION,
    "no stock broker becomes controller, and a migration stops there", "repair them, or delete the topics",
)  # fmt: skip
FEATURE_LEVELS = Ending(
    "feature-levels", "features", "/feature", "levels that a broker does not support: `kraft.version` of 99",
    "FinalizedFeatureChangeListener", _BROKERS,
    "finalized features stand, and brokers that do not support them end at once and do not start", "delete it: a 3.9"
    " broker in ZooKeeper mode needs none", certain=False,
)  # fmt: skip
FEATURES = Ending(
    "features", "features", "/feature", "what is no JSON with a version, a status and features: `{`",
    "FeatureZNode.decode", frozenset({Victim.ELECTION}), "no stock broker becomes controller while it cannot be"
    " understood", "delete it: the next controller writes it again",
)  # fmt: skip
PRODUCER_IDS = Ending(
    "producer-ids", "producer-ids", "/latest_producer_id_block", "what is no block of producer ids: `none`",
    "ProducerIdBlockZNode, ZkMigrationClient.migrateProducerId", frozenset({Victim.PART, Victim.MIGRATION}),
    "idempotent producers get no ids, and a migration stops there",
    "write a block that begins above every id in use:"
    ' {"version":1,"broker":1,"block_start":"1000000","block_end":"1000999"}',
)  # fmt: skip
ACLS = Ending(
    "acls", "acls", "/kafka-acl, /kafka-acl-extended",
    'ACLs that are none: `{"version":1,"acls":7}`, a principal `alice`',
    "AclAuthorizer.loadCache", _BOTH,
    "ACLs cannot be understood: no broker with AclAuthorizer starts, and a KRaft controller stops at the first",
    "correct or delete these znodes", "CreateAcls",
)  # fmt: skip
TOKENS = Ending(
    "tokens", "delegation-tokens", "/delegation_token/tokens/ID", "what is no token: `[]`",
    "DelegationTokenManagerZk.fromBytes", _MIGRATION,
    "delegation tokens cannot be understood: a migration stops there", "delete these znodes",
)  # fmt: skip

ENDINGS: tuple[Ending, ...] = tuple(one for one in list(globals().values()) if isinstance(one, Ending))
