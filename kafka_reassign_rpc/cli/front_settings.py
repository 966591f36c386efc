"""Settings of a server in front of a cluster in KRaft mode: a part of the server's catalogue."""

from kafka_reassign_rpc.cli.settings_reader import Setting
from kafka_reassign_rpc.cli.value_parsers import OneOf, text, whole
from kafka_reassign_rpc.kraft.front.shown_nodes import FrontNodes
from kafka_reassign_rpc.kraft.state_log.silence import LEAD_S

GROUP = "in front of KRaft"
BOOTSTRAP_CONTROLLER = "bootstrap.controller"
NODES = "front.nodes"
LEAD = "state.log.lead.ms"
IMPORT = "import"

FRONT_SETTINGS: tuple[Setting, ...] = (
    Setting(
        NODES,
        OneOf(*FrontNodes),
        FrontNodes.BESIDE.value,
        "How clients see the brokers. beside: this server is one node more, and the controller; tools that do their"
        " work and end need no more. ports: each broker has a port here (that of listeners + 1 + its id), so that"
        " clients which live on stay, too. names: the same by a name for each broker, broker-ID.HOST, where HOST is the"
        " advertised one: all at the port of the listener, which needs TLS and a certificate for these names, such as"
        " *.HOST.",
        group=GROUP,
    ),
    Setting(
        BOOTSTRAP_CONTROLLER,
        text,
        None,
        "One or more controllers of the cluster, separated by commas: they take configs of brokers that are dead, so"
        " that throttles are set and taken back there, too.",
        group=GROUP,
        metavar="HOST:PORT[,…]",
        default_words="none: throttles of a dead broker stay until it is back",
    ),
    Setting(
        LEAD,
        whole(1_000, 60_000),
        round(LEAD_S * 1000),
        "Milliseconds after which another server takes over from one that is silent. From 1000 to 60000. All servers"
        " need the same value.",
        group=GROUP,
        metavar="MS",
    ),
    Setting(
        IMPORT,
        text,
        None,
        "A file that `kafka-reassign-rpc leave` keeps with --export: once this server leads, the moves that waited in"
        " ZooKeeper mode wait here, and those in flight have their original replicas again. The state log"
        " remembers the file, so a second import changes nothing.",
        group=GROUP,
        metavar="FILE",
    ),
)
