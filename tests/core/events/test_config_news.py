"""The event of a change of configs: what was and what is, without secrets, in one line of bounded length."""

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.cluster_news import LONGEST, SHOWN, config_changed


def test_dh_8_a_change_of_configs_names_each_with_its_value_before_and_after() -> None:
    before = {"retention.ms": "1", "cleanup.policy": "delete", "min.insync.replicas": "1"}
    after = {"retention.ms": "2", "cleanup.policy": "delete", "max.message.bytes": ""}
    event = config_changed("topic t", before, after, topic="t")
    assert event is not None
    assert (event.event, event.topic, event.broker) == (catalogue.CONFIG_CHANGED, "t", None)
    assert event.reason == (
        'topic t: max.message.bytes unset -> "", min.insync.replicas 1 -> unset, retention.ms 1 -> 2'
    )
    assert config_changed("topic t", before, dict(before)) is None


def test_hm_7_values_that_may_be_secrets_are_hidden() -> None:
    event = config_changed("broker 1", {"ssl.key.password": "s3cret"}, {"plugin.token": "s3cret"}, broker=1)
    assert event is not None
    assert (event.reason, event.broker) == (
        "broker 1: plugin.token unset -> (hidden), ssl.key.password (hidden) -> unset",
        1,
    )


def test_dh_8_of_many_changes_a_few_are_shown_and_the_others_counted() -> None:
    event = config_changed("all", {}, {f"x{number}.{'n' * 2 * LONGEST}": "v" for number in range(SHOWN + 4)})
    assert event is not None
    assert event.reason is not None
    assert event.reason.endswith(" and 4 more")
    assert len(event.reason) < (SHOWN + 1) * 2 * LONGEST
