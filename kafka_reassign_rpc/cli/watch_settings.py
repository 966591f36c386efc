"""Which cluster to look at: a part of the server's catalogue."""

from kafka_reassign_rpc.cli.settings_reader import Setting
from kafka_reassign_rpc.cli.value_parsers import text, true_or_false
from kafka_reassign_rpc.support import environment
from kafka_reassign_rpc.watch.clusters import clusters

WATCH = "watch"
BOOTSTRAP = "bootstrap.server"
COMMAND_CONFIG = "command.config"
CLUSTERS = "cluster"
GROUP = "watch"

WATCHED_SETTINGS: tuple[Setting, ...] = (
    Setting(
        WATCH,
        true_or_false,
        False,
        "Whether this process only looks: it shows the moves of any cluster, as `kafka-reassign-rpc watch` does, needs"
        " no ZooKeeper and changes nothing. Settings of a controller then have no effect, and defaults are those of"
        " watch. Environment variable: KAFKA_REASSIGN_WATCH.",
        group=GROUP,
        variable=environment.WATCH,
        is_switch=True,
    ),
    Setting(
        BOOTSTRAP,
        text,
        None,
        "One or more nodes of the cluster in KRaft mode that this server serves, separated by commas; with watch, of"
        " any cluster to look at. Environment variable: KAFKA_REASSIGN_BOOTSTRAP_SERVER. Several clusters to look at"
        " are tables [[cluster]] in the file of --config instead, with name, bootstrap-server and command-config.",
        group=GROUP,
        metavar="HOST:PORT[,…]",
        variable=environment.BOOTSTRAP_SERVER,
    ),
    Setting(
        COMMAND_CONFIG,
        text,
        None,
        "A Java properties file with configs of the client of bootstrap.server, as Kafka's tools take it. Environment"
        " variable: KAFKA_REASSIGN_COMMAND_CONFIG.",
        group=GROUP,
        metavar="FILE",
        default_words="no login, and no TLS",
        variable=environment.COMMAND_CONFIG,
    ),
    Setting(
        CLUSTERS,
        clusters,
        (),
        "With watch: several clusters, up to 50, each a table [[cluster]] of the file of --config. There is no flag.",
        group=GROUP,
        default_words="the one of bootstrap.server",
        has_flag=False,
    ),
)
