"""Which settings hold is derived when their sources are read, and then only looked at: it is never stale."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import BROKERS, TOPICS
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.settings.broker_settings import KAFKA_DEFAULTS
from kafka_reassign_rpc.core.settings.healing_settings import INTERVAL, PAUSED, THROTTLE, HealingSettings
from kafka_reassign_rpc.core.settings.reassignment_settings import (
    ENABLED,
    HOLD_AFTER_ABSENCE,
    MAX_PER_BROKER,
    MAX_PER_CLUSTER,
    REPLICATION_FACTOR_CHANGE_ALLOWED,
    InFlightCaps,
    ReassignmentSettings,
)
from kafka_reassign_rpc.core.settings.windows import WINDOWS
from kafka_reassign_rpc.core.state.cluster import Cluster, SoftState
from kafka_reassign_rpc.core.writers.facts import (
    AdminZnodes,
    AdminZnodesFound,
    BrokersStartedWith,
    ConfigsFound,
    ConfigsWritten,
    Fact,
    SettingsFound,
    TimeTold,
)
from kafka_reassign_rpc.core.writers.reload import Reloaded, take_over
from kafka_reassign_rpc.core.writers.replay import Durable, ReplayedChanges, replay
from tests.core.build import learn
from tests.effort import examples

DEFAULTS = "<default>"
NIGHT = "daily 22:00-06:00 UTC"
TEXTS = {
    ENABLED: ["true", "false", "perhaps"],
    REPLICATION_FACTOR_CHANGE_ALLOWED: ["true", "false"],
    MAX_PER_BROKER: ["-1", "7", "many"],
    MAX_PER_CLUSTER: ["0", " 20 "],
    HOLD_AFTER_ABSENCE: ["-1", "9"],
    INTERVAL: ["60000", "soon"],
    PAUSED: ["true", "false"],
    "self.healing.max.moves": ["1", "0"],
    THROTTLE: ["5000000", "-1", "50%"],
    WINDOWS: ["", NIGHT, f"{NIGHT} rate=5MB; otherwise max.per.cluster=1", "at times"],
}
values: st.SearchStrategy[dict[str, str]] = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(texts) for name, texts in TEXTS.items()}
)
problems = st.sampled_from(["", "", "garbage"])
times = st.integers(0, 2**31).map(lambda minute: minute * 60_000)
read_at = st.sampled_from([5, 50, 2**62])
names = st.sampled_from([DEFAULTS, DEFAULTS, "1"])
versions = st.one_of(st.none(), st.tuples(st.integers(1, 3), st.integers(0, 3)))
kinds = st.sampled_from([BROKERS, BROKERS, TOPICS])
own = st.builds(
    ReassignmentSettings,
    replication_factor_change_allowed=st.booleans(),
    caps=st.builds(InFlightCaps, per_broker=st.integers(-1, 3), per_cluster=st.integers(-1, 3)),
    healing=st.builds(HealingSettings, interval_ms=st.sampled_from([-1, 30_000]), chunk=st.integers(1, 9)),
    hold_after_absence_ms=st.integers(-1, 9),
)


def found(kind: str, name: str, values: dict[str, str], version: tuple[int, int] | None) -> ConfigsFound:
    return ConfigsFound(kind, {name: values}, {} if version is None else {name: version})


facts: st.SearchStrategy[Fact[Any]] = st.one_of(
    st.builds(SettingsFound, values, problems, st.just({}), st.just(1), read_at),
    st.builds(found, kinds, names, values, versions),
    st.builds(ConfigsWritten, kinds, names, values, versions),
    st.builds(
        partial(AdminZnodesFound, batch_read=False),
        st.builds(partial(AdminZnodes, cancel_all=None, batch=None), st.booleans()),
        read_at=read_at,
    ),
    st.builds(partial(BrokersStartedWith, KAFKA_DEFAULTS), st.sampled_from([frozenset[int](), frozenset({1})])),
    st.builds(TimeTold, times),
)


def read(defaults: dict[str, str], settings: dict[str, str], problem: str, by_znode: bool, since: int) -> Cluster:
    return Cluster(
        broker_configs={DEFAULTS: defaults},
        settings=settings,
        settings_problem=problem,
        disabled_by_znode=by_znode,
        since=since,
    )


reads = st.builds(read, values, values, problems, st.booleans(), st.integers(10, 60))


def taken_over(cluster: Cluster, fresh: Cluster) -> None:
    for _ in take_over(cluster, fresh, Reloaded([], set())):
        pass


def replayed(cluster: Cluster) -> None:
    for _ in replay(cluster, RoundView(cluster), Durable(), 1, ReplayedChanges()):
        pass


def derived_afresh(cluster: Cluster) -> object:
    """As a reader derives them that reads the same now, and knows the same otherwise."""
    soft = cluster.soft
    same = SoftState(started_with=soft.started_with, window=soft.window, migrating=soft.migrating)
    return replace(cluster, soft=same).soft.in_force


@pytest.mark.more
@settings(max_examples=examples(300))
@given(first=reads, started_with=own, steps=st.lists(st.one_of(facts, facts, reads, st.none()), max_size=12))
def test_sv_3_whatever_is_read_reported_or_decided_the_settings_that_hold_are_those_of_their_sources(
    first: Cluster, started_with: ReassignmentSettings, steps: list[Fact[Any] | Cluster | None]
) -> None:
    cluster = replace(first, soft=SoftState(started_with=started_with))
    for step in steps:
        if step is None:
            replayed(cluster)
        elif isinstance(step, Cluster):
            taken_over(cluster, replace(step, soft=SoftState(started_with=started_with)))
        else:
            learn(cluster, step)
        assert cluster.soft.in_force == derived_afresh(cluster), step


def test_sv_3_the_histories_would_show_it_if_one_source_were_not_derived() -> None:
    """Each source, written past the facts, leaves what holds behind."""
    night = Cluster(settings={WINDOWS: NIGHT})
    learn(night, TimeTold(0))
    sources: list[tuple[str, object]] = [
        ("settings", {ENABLED: "false"}),
        ("settings_problem", "garbage"),
        ("disabled_by_znode", True),
        ("broker_configs", {DEFAULTS: {MAX_PER_BROKER: "7"}}),
        ("started_with", ReassignmentSettings(hold_after_absence_ms=9)),
        ("window", night.soft.window),
    ]
    for field, value in sources:
        cluster = Cluster(settings={WINDOWS: NIGHT})
        setattr(cluster.soft if field in SoftState.__struct_fields__ else cluster, field, value)
        assert cluster.soft.in_force != derived_afresh(cluster), field
