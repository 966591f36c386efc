"""What follows from the settings that all servers share: odd ones, and what they mean for brokers and times of the day.
Pure."""

from collections.abc import Iterator, Mapping

from kafka_reassign_rpc.core.brokers.cordon import LOG_DIRS, cordoned, cordoned_by_themselves, destinations
from kafka_reassign_rpc.core.config_values import BROKER_IDS, listed, parse_brokers
from kafka_reassign_rpc.core.settings.healing_settings import INTERVAL
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS, consequence, consequences, divided
from kafka_reassign_rpc.core.settings.settings_in_force import IN_DEFAULTS, MOVE_SETTINGS, notices
from kafka_reassign_rpc.core.settings.windows import WINDOWS, parse_windows
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.preflight.findings import Finding, fine, some, unsafe, warning
from kafka_reassign_rpc.support.bounded_text import shown
from kafka_reassign_rpc.support.typed_commands import command
from kafka_reassign_rpc.zookeeper import znode_paths

BY_A_SERVER = "with a server as the controller"
"""A stock controller answers none of our commands about settings."""
BY_THE_LEADER = "while a server leads"


def of_settings(cluster: Cluster) -> Iterator[Finding]:
    """In ZooKeeper mode. Settings that cannot be read are the only finding."""
    yield _kept_by_zookeeper(cluster)
    if not cluster.settings_problem:
        yield _cordon(cluster, BY_A_SERVER, "no topic can be created, no partition added, no broker healed")
        yield _windows(cluster, BY_A_SERVER)


def of_kraft_settings(cluster: Cluster) -> Iterator[Finding]:
    """In front of KRaft. Topics are placed by the cluster itself."""
    yield _shared(
        cluster.settings,
        BY_THE_LEADER,
        "the state log",
        "a later version has written them: upgrade this server, or set them again when all are of this version",
    )
    yield _cordon(cluster, BY_THE_LEADER, "no broker is healed")
    yield _windows(cluster, BY_THE_LEADER)


def of_own_settings(values: Mapping[str, str]) -> Iterator[Finding]:
    """What a server would be started with."""
    for text in consequences(values):
        yield warning("settings", text, "correct the flag, or the file of this server, where it is set")


def _kept_by_zookeeper(cluster: Cluster) -> Finding:
    if cluster.settings_problem:
        return unsafe(
            "settings",
            f"{cluster.settings_problem}: a server would start no new move and no repair, and know no cordoned broker",
            f"repair {znode_paths.SETTINGS}, or delete it to do without",
        )
    by_themselves = cordoned_by_themselves(cluster)
    if by_themselves:
        names = listed(by_themselves)
        return warning(
            "settings",
            f"{LOG_DIRS} is among the configs of broker {names}: it counts, but a broker before Kafka 4.3 takes"
            " it for a secret, and stock tools refuse every other change of its configs",
            f"`{command('kafka-reassign cordon', '--brokers', names)}`, {BY_A_SERVER}; then delete it"
            f" there: `{_delete_config('--entity-name', 'ID', names=LOG_DIRS)}`",
        )
    own, _ = divided(cluster.default_configs)
    if own:
        return warning(
            "settings",
            f"settings of servers are among {IN_DEFAULTS}, where stock tools take them for secrets and refuse every"
            f" other change: {'; '.join(notices(cluster.settings, own))}",
            f"{MOVE_SETTINGS}, {BY_A_SERVER}; or set them on a server (kafka-configs.sh) and delete"
            f" them all at once from the defaults: `{_delete_config('--entity-default', names=','.join(sorted(own)))}`",
        )
    unknown = "if no later version has written them, correct their names there"
    return _shared(cluster.settings, BY_A_SERVER, znode_paths.SETTINGS, unknown)


def _delete_config(*entity: str, names: str) -> str:
    return command("kafka-configs.sh", "--alter", "--entity-type", "brokers", *entity, "--delete-config", names)


def _shared(settings: Mapping[str, str], by: str, place: str, cure_unknown: str) -> Finding:
    unknown = sorted(settings.keys() - SERVER_SETTINGS.keys())
    if unknown:
        named = f"{place} has settings that this version does not know: {some(unknown)}"
        return warning("settings", named, cure_unknown)
    odd = {name: text for name, value in settings.items() if (text := consequence(name, value)) is not None}
    if odd:
        cure = ("--set", f"{INTERVAL}=30min") if INTERVAL in odd else ("--delete", next(iter(odd)))
        return warning("settings", "; ".join(odd.values()), f"`{command('kafka-reassign settings', *cure)}`, {by}")
    all_ = ", ".join(f"{name}={shown(value)}" for name, value in sorted(settings.items()))
    return fine("settings", f"the servers share {all_}" if all_ else "no setting is set for all servers")


def _cordon(cluster: Cluster, by: str, if_all: str) -> Finding:
    text = cluster.settings.get(CORDONED_BROKERS, "")
    closed = cordoned(cluster)
    if parse_brokers(text) is None:
        return warning(
            "cordon",
            f"{CORDONED_BROKERS}={shown(text)} cordons no broker",
            f"it has to be {BROKER_IDS}: set it again (`kafka-reassign settings`, {by})",
        )
    if not closed:
        return fine("cordon", "no broker is cordoned")
    if cluster.brokers and not destinations(cluster).brokers:
        closed_here = listed(closed & cluster.brokers.keys())
        return warning(
            "cordon",
            f"all registered brokers are cordoned: {if_all}",
            f"open some: `{command('kafka-reassign cordon', '--uncordon', '--brokers', closed_here)}`, {by}",
        )
    absent = sorted(closed - cluster.brokers.keys())
    gone = f" (not registered: {some(absent)})" if absent else ""
    return fine("cordon", f"cordoned, so that they get no new replica: {some(sorted(closed))}{gone}")


def _windows(cluster: Cluster, by: str) -> Finding:
    text = cluster.soft.in_force.windows
    try:
        windows = parse_windows(text)
    except ValueError as error:
        return warning(
            "windows",
            f"{WINDOWS}={shown(text)} cannot be read on this host: {error}. A server here would start no move but"
            " repairs",
            f"set it again (`kafka-reassign settings`, {by}), or install what is missing, such as the time"
            " zones of the host",
        )
    return fine("windows", "moves start at any time" if windows is None else f"moves start by the time of day: {text}")
