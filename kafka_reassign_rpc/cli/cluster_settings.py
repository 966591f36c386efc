"""Which cluster to look at, or to be in front of in KRaft mode: a part of the server's catalogue."""

from kafka_reassign_rpc.cli.settings_reader import Setting, in_group
from kafka_reassign_rpc.cli.value_parsers import OneOf, text, true_or_false, whole
from kafka_reassign_rpc.kraft.front.answer_patches import FrontNodes
from kafka_reassign_rpc.kraft.state_log.log_reading import LEAD_S
from kafka_reassign_rpc.support import connection_flags
from kafka_reassign_rpc.watch.clusters import clusters

BOOTSTRAP_CONTROLLER = "bootstrap.controller"
NODES = "front.nodes"
LEAD = "state.log.lead.ms"
IMPORT = "import"

FRONT_SETTINGS = in_group(
    "in front of KRaft",
    Setting(
        NODES,
        OneOf(*FrontNodes),
        FrontNodes.BESIDE.value,
        "How clients see the brokers. beside: this server is one node more, and the controller; tools that do their"
        " work and end need no more. ports: each broker has a port here (that of listeners + 1 + its id), so that"
        " clients which live on stay, too. names: the same by a name for each broker, broker-ID.HOST, where HOST is the"
        " advertised one: all at the port of the listener, which needs TLS and a certificate for these names, such as"
        " *.HOST.",
    ),
    Setting(
        BOOTSTRAP_CONTROLLER,
        text,
        None,
        "One or more controllers of the cluster, separated by commas: they take configs of brokers that are dead, so"
        " that throttles are set and taken back there, too.",
        metavar="HOST:PORT[,…]",
        default_words="none: throttles of a dead broker stay until it is back",
    ),
    Setting(
        LEAD,
        whole(1_000, 60_000),
        round(LEAD_S * 1000),
        "Milliseconds after which another server takes over from one that is silent. From 1000 to 60000. All servers"
        " need the same value.",
        metavar="MS",
    ),
    Setting(
        IMPORT,
        text,
        None,
        "A file that `kafka-reassign-rpc leave` keeps with --export: once this server leads, the moves that waited in"
        " ZooKeeper mode wait here, and those in flight have their original replicas again. The state log"
        " remembers the file, so a second import changes nothing.",
        metavar="FILE",
    ),
)


WATCH = "watch"
BOOTSTRAP = "bootstrap.server"
COMMAND_CONFIG = "command.config"
CLUSTERS = "cluster"

WATCHED_SETTINGS = in_group(
    "watch",
    Setting(
        WATCH,
        true_or_false,
        False,
        "Whether this process only looks: it shows the moves of any cluster, as `kafka-reassign-rpc watch` does, needs"
        " no ZooKeeper and changes nothing. Settings of a controller then have no effect, and defaults are those of"
        " watch. Environment variable: KAFKA_REASSIGN_WATCH.",
        variable=connection_flags.WATCH,
        is_switch=True,
    ),
    Setting(
        BOOTSTRAP,
        text,
        None,
        "One or more nodes of the cluster in KRaft mode that this server serves, separated by commas; with watch, of"
        " any cluster to look at. Environment variable: KAFKA_REASSIGN_BOOTSTRAP_SERVER. Several clusters to look at"
        " are tables [[cluster]] in the file of --config instead, with name, bootstrap-server and command-config.",
        metavar="HOST:PORT[,…]",
        variable=connection_flags.BOOTSTRAP_SERVER,
    ),
    Setting(
        COMMAND_CONFIG,
        text,
        None,
        "A Java properties file with configs of the client of bootstrap.server, as Kafka's tools take it. Environment"
        " variable: KAFKA_REASSIGN_COMMAND_CONFIG.",
        metavar="FILE",
        default_words="no login, and no TLS",
        variable=connection_flags.COMMAND_CONFIG,
    ),
    Setting(
        CLUSTERS,
        clusters,
        (),
        "With watch: several clusters, up to 50, each a table [[cluster]] of the file of --config. There is no flag.",
        default_words="the one of bootstrap.server",
        has_flag=False,
    ),
)
