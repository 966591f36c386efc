"""Files whose tests start stock brokers of their own, and what brokers shared with other files could not show.

A new file that needs none of this shares those of its room: `stock_cluster` of `tests/kraft/conftest.py`, `clusters` of
`tests/foreign_clients/conftest.py`, or the scenarios of `tests/interop` and `tests/mixed_clusters/test_scenarios.py`.
"""

from collections.abc import Mapping

STARTERS = frozenset(
    {
        "campaign.in_front_of_zookeeper",
        "cluster.StockBroker",
        "cluster.StockCluster",
        "clusters.StockKafka",
        "held_moves.held_moves",
        "kraft.kraft_cluster",
        "kraft_clusters.StockKRaft",
        "kraft_course.in_front_of_kraft",
        "kraft_world.KRaftWorld",
        "kraft_world.kraft_world",
        "mixed_cluster.behind_our_server",
        "secured_cluster.secured_cluster",
        "stock_cluster.StockCluster",
    }
)
"""Who calls one of these starts brokers: names, each behind that of its module."""

WHY: Mapping[str, str] = {
    "campaign/kraft/test_short_kraft_campaigns.py": "a campaign kills, freezes and cuts all of them.",
    "campaign/test_short_campaigns.py": "a campaign kills, freezes and cuts all of them.",
    "fleet/test_processes.py": "the stock broker is the controller of this fleet, which is killed and frozen.",
    "fleet/test_stock_controller.py": "the stock broker is the controller of simulated ones.",
    "interop/authorization/test_same_as_stock_broker.py": "an authorizer, and all ACLs of the cluster.",
    "interop/test_conformance.py": "some scenarios kill brokers, and the controller with all of them.",
    "interop/test_conformance_in_front_of_kraft.py": "all five are throttled to a byte a second.",
    "interop/test_random_requests.py": "random requests change configs of the whole cluster.",
    "kraft/state_log/test_on_stock_kafka.py": "the leader of the log is killed, and there is a listener for guests.",
    "kraft/test_service_heals.py": "one of them is lost for good.",
    "kraft/test_service_releases.py": "other releases than the shared ones, of which a broker is down for long.",
    "migration/test_blockers.py": "the whole cluster migrates, and is full of what blocks that.",
    "migration/test_migrate_page.py": "the whole cluster migrates.",
    "migration/test_ride_along_and_back.py": "the whole cluster migrates, and back.",
    "mixed_clusters/test_cluster_defaults.py": "configs of the whole cluster are set, and brokers restart with them.",
    "mixed_clusters/test_commands_at_a_takeover.py": "the controllership of the cluster changes hands.",
    "mixed_clusters/test_disks.py": "each has two log dirs.",
    "mixed_clusters/test_duplicate_topic_ids.py": "no stock broker can be elected while two topics have one id.",
    "mixed_clusters/test_edited_topics.py": "the controllership of the cluster changes hands in the midst of an edit.",
    "mixed_clusters/test_failed_log_dirs.py": "each has two log dirs, one of which fails.",
    "mixed_clusters/test_lost_sessions.py": "their connections to ZooKeeper are cut.",
    "mixed_clusters/test_lowered_epochs.py": "the epoch of the cluster's controllers is spoilt.",
    "mixed_clusters/test_notifications.py": "each has two log dirs, one of which fails, and an older protocol.",
    "mixed_clusters/test_one_broker.py": "the controllership of the cluster changes hands; all znodes are compared.",
    "mixed_clusters/test_principals.py": "an authorizer, and users of the cluster.",
    "mixed_clusters/test_producer_ids.py": "it joins a cluster that our server has begun.",
    "mixed_clusters/test_rolling_upgrade.py": "each is restarted with another release.",
    "mixed_clusters/test_sasl_links.py": "their links among each other are secured.",
    "mixed_clusters/test_scenarios.py": "some scenarios kill brokers. All scenarios share them.",
    "mixed_clusters/test_secured.py": "they are secured, and so is their ZooKeeper.",
    "mixed_clusters/test_topic_configs.py": "a broker restarts with what was set.",
    "mixed_clusters/test_unlike_listeners.py": "each has other listeners.",
    "mixed_clusters/test_vanished_topics.py": "brokers restart while znodes are gone.",
    "mixed_clusters/test_versions.py": "three releases in one cluster, one of which leaves and comes back.",
    "mixed_clusters/test_whole_cluster_clients.py": "clients take the only broker for the whole cluster.",
    "pipeline/test_drain_on_kraft_4_4.py": "no other test needs this release, and two brokers are cordoned.",
    "pipeline/test_rates_recipe.py": "Prometheus counts all that they take.",
    "pipeline/test_real_clusters.py": "a plan for all topics of the cluster is carried out.",
    "pipeline/test_submit_on_kraft.py": "what all moves of the cluster put on one broker is counted.",
    "preflight/test_printed_commands.py": "commands mend the state of the whole cluster.",
    "reassign_command/test_on_stock_kafka.py": "all moves of the cluster are listed. All tests of a mode share them.",
    "security/test_kerberos_cluster.py": "they know each other by Kerberos.",
    "security/test_sasl_same_as_stock.py": "its listeners have the mechanisms and users of this file.",
    "stock/test_class_archives.py": "how one starts is what is tested.",
    "watch/test_audit_log.py": "its log is changed for the recipe, and has to show one request alone.",
    "watch/test_five_minutes.py": "two releases in one cluster.",
    "watch/test_hung_stock_broker.py": "one of them is frozen.",
    "watch/test_on_kafka_2_8.py": "no other test needs this release.",
    "watch/test_on_kraft_releases.py": "one is frozen, killed, and starts at another port; log dirs fail.",
    "watch/test_on_stock_kafka.py": "watch shows every move and every throttle of the cluster.",
    "watch/test_page_of_kraft.py": "the page shows hundreds of moves, and no others.",
    "watch/test_quorum_loss.py": "the quorum is lost.",
}
"""By file below `tests`."""
