"""The steps of a campaign follow from its seed alone, and harm no more than they say."""

import inspect
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_reassign_rpc.core.restarts.table import ENDINGS, LOG_DEFAULTS, Victim

from .executor import FUNCTIONS
from .generator import (
    BAD_DEFAULTS,
    BROKER_IDS,
    INTERNAL_TOPICS,
    LOG_DIRS,
    MOST_PARTITIONS,
    PRODUCERS,
    SERVER_NAMES,
    TOPICS,
    plan,
)
from .steps import BROKERS, KINDS, SERVERS, TOPIC, ZOOKEEPER, Step
from .test_short_campaigns import ONLY_IN_ALL, OPEN, SECONDS, SECURED

MINUTES = 3
seeds = st.integers(0, 10**6)
few = settings(max_examples=20)  # a plan is some hundred steps, and all of them are looked at
drawn = [name for name, kind in KINDS.items() if kind.weight]


def lane_of(steps: list[Step], lane: str) -> list[Step]:
    return [step for step in steps if step.lane == lane]


@few
@given(seeds)
def test_sv_4_the_same_seed_gives_the_same_steps(seed: int) -> None:
    assert [str(step) for step in plan(seed, 60)] == [str(step) for step in plan(seed, 60)]
    assert plan(seed, 60) != plan(seed + 1, 60)


@few
@given(seeds)
def test_sv_4_a_longer_campaign_begins_like_a_shorter_one(seed: int) -> None:
    shorter = plan(seed, 60)
    assert [step for step in plan(seed, 120) if step.at < shorter[-1].at] == [
        step for step in shorter if step.at < shorter[-1].at
    ]


@few
@given(seeds, st.sets(st.sampled_from(drawn)))
def test_sv_4_a_kind_that_is_switched_off_is_not_drawn_and_lanes_of_others_stay_as_they_are(
    seed: int, off: set[str]
) -> None:
    steps = plan(seed, 60, off)
    assert off.isdisjoint(step.kind for step in steps)
    for lane in (BROKERS, SERVERS, ZOOKEEPER):
        if all(KINDS[kind].lane != lane for kind in off):
            assert lane_of(steps, lane) == lane_of(plan(seed, 60, ()), lane)


@few
@given(seeds)
def test_sv_4_one_broker_is_harmed_at_a_time_but_where_the_kind_says_so(seed: int) -> None:
    for step in lane_of(plan(seed, 60 * MINUTES), BROKERS):
        harmed = step.arguments.get("brokers", [step.arguments.get("broker")])
        assert len(set(harmed)) == KINDS[step.kind].harms == (2 if step.kind == "kill_two_brokers" else 1)
        assert set(harmed) <= set(BROKER_IDS)
        assert step.arguments.get("log_dir", 0) < LOG_DIRS[harmed[0]]


@few
@given(seeds)
def test_sv_4_a_lane_leaves_each_step_its_time(seed: int) -> None:
    steps = plan(seed, 60 * MINUTES)
    assert steps == sorted(steps, key=lambda step: step.at)
    for lane in (BROKERS, SERVERS, ZOOKEEPER):
        for one, after in pairwise(lane_of(steps, lane)):
            assert after.at - one.at > one.arguments["away"] + KINDS[one.kind].takes
            assert one.arguments.get("server", "a") in SERVER_NAMES


@few
@given(seeds)
def test_sv_4_steps_name_only_partitions_that_exist_and_a_name_is_created_again_after_each_deletion(seed: int) -> None:
    steps = plan(seed, 60 * MINUTES)
    partitions = dict(INTERNAL_TOPICS)
    incarnations = dict.fromkeys(PRODUCERS, -1)
    for step in steps:
        topic = step.arguments.get("topic", "")
        if step.kind == "create_topic":
            assert topic not in partitions
            incarnations[topic] += 1
            assert step.arguments["incarnation"] == incarnations[topic]
            partitions[topic] = len(step.arguments["replicas"])
            assert len({len(set(replicas)) for replicas in step.arguments["replicas"].values()}) == 1
        elif step.kind == "delete_topic":
            del partitions[topic]
        elif step.kind == "grow_topic":
            assert step.arguments["partitions"] == partitions[topic] + 1 <= MOST_PARTITIONS
            partitions[topic] += 1
        elif topic:
            named = set(step.arguments.get("targets", ())) | set(step.arguments.get("partitions", ()))
            assert named <= set(range(partitions[topic]))
            for target in step.arguments.get("targets", {}).values():
                assert len(set(target)) == len(target) in {2, 3}
                assert set(target) <= set(BROKER_IDS)


@few
@given(seeds)
def test_sv_4_an_upgrade_gives_every_broker_the_newer_version_before_any_gets_the_newer_protocol(seed: int) -> None:
    steps = plan(seed, 60 * MINUTES, upgrade=True)
    found = [
        (step.kind, step.arguments["broker"]) for step in steps if step.kind in {"upgrade_broker", "raise_protocol"}
    ]
    assert found == [(kind, broker) for kind in ("upgrade_broker", "raise_protocol") for broker in BROKER_IDS]
    others = [step for step in steps if step.lane != BROKERS]
    assert others == [step for step in plan(seed, 60 * MINUTES) if step.lane != BROKERS]


def test_sv_4_one_topic_of_each_seed_is_never_deleted_so_that_the_group_has_to_read_all_of_it() -> None:
    kept = []
    for seed in range(20):
        deleted = {step.lane for step in plan(seed, 900) if step.kind == "delete_topic"}
        [one] = TOPICS.keys() - deleted
        kept.append(one)
    assert set(kept) == TOPICS.keys()


@pytest.mark.parametrize("kind", ["vanish_topic", "twin_ids"])
def test_hm_2_topics_vanish_or_have_a_foreign_id_for_a_while_and_each_lane_leaves_the_step_its_time(kind: str) -> None:
    away = []
    for seed in range(20):
        steps = plan(seed, 60 * MINUTES, ())
        for topic in TOPICS:
            for one, after in pairwise(lane_of(steps, topic)):
                if one.kind == kind:
                    away.append(one.arguments["away"])
                    assert after.at - one.at > away[-1] + KINDS[one.kind].takes
    assert away.count(0.0) / len(away) == pytest.approx(0.25, abs=0.1)
    assert 7 < max(away) <= 8


def test_hm_1_all_values_are_asked_for_that_a_client_could_write_and_that_end_brokers_at_their_next_start() -> None:
    ends = {one.name for one in ENDINGS if Victim.BROKERS in one.victims and one.refused == LOG_DEFAULTS.refused}
    assert BAD_DEFAULTS.keys() == ends
    steps = [step for seed in range(40) for step in plan(seed, 60 * MINUTES)]
    assert {step.arguments["row"] for step in steps if step.kind == "bad_defaults"} == ends


def test_sv_4_every_kind_is_drawn_sooner_or_later_as_often_as_its_weight_says() -> None:
    steps = [step for seed in range(100) for step in plan(seed, 60 * MINUTES, ())]
    found = [step.kind for step in steps]
    assert set(found) == set(KINDS) - {"upgrade_broker", "raise_protocol"}
    for lane in (BROKERS, SERVERS, TOPIC):
        kinds = {name: kind for name, kind in KINDS.items() if kind.lane == lane and kind.weight}
        of_topics = [step.kind for step in steps if step.lane in (TOPICS if lane == TOPIC else (lane,))]
        total = sum(of_topics.count(kind) for kind in kinds)
        for name, kind in kinds.items():
            share = kind.weight / sum(one.weight for one in kinds.values())
            assert of_topics.count(name) / total == pytest.approx(share, rel=0.25), name


def test_sv_4_the_short_campaigns_of_the_tests_draw_every_kind() -> None:
    always, in_all = [
        {step.kind for seed in seeds for step in plan(seed, SECONDS)} | {"upgrade_broker", "raise_protocol"}
        for seeds in ((*OPEN, SECURED), (*OPEN, SECURED, ONLY_IN_ALL))
    ]
    assert (set(KINDS) - always, set(KINDS) - in_all) == ({"kill_two_brokers"}, set())


def test_sv_4_every_step_can_be_carried_out_with_what_is_drawn_for_it() -> None:
    for seed in range(20):
        for step in plan(seed, 60 * MINUTES, (), upgrade=True):
            inspect.signature(FUNCTIONS[step.kind]).bind(None, **step.arguments)


def test_sv_4_a_step_is_shown_on_one_line() -> None:
    arguments = {"topic": "t", "targets": {0: [1, 2], 1: [3]}, "rate": 5}
    shown = "  12.5 s  t            move_with_lease topic=t targets=0:[1,2],1:[3] rate=5"
    assert str(Step(12.5, "t", "move_with_lease", arguments)) == shown
