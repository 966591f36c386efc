"""The steps of a campaign on KRaft follow from its seed alone, and harm no more than they say."""

import inspect
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.campaign.executor import functions_in
from tests.campaign.steps import BROKERS, SERVERS
from tests.stock.kraft import VERSION

from . import harm_steps, move_steps, operator_steps
from .kraft_kinds import APART, CONTROLLERS, KINDS, unknown_to
from .kraft_plan import BROKER_IDS, KRAFT_TOPICS, plan
from .test_short_kraft_campaigns import SECONDS, SEEDS

seeds = st.integers(0, 10**6)
few = settings(max_examples=20)


@few
@given(seeds)
def test_kr_5_the_same_seed_gives_the_same_steps_and_a_longer_campaign_begins_like_a_shorter_one(seed: int) -> None:
    shorter = plan(seed, 60)
    assert [str(step) for step in shorter] == [str(step) for step in plan(seed, 60)]
    assert [step for step in plan(seed, 120) if step.at < shorter[-1].at] == [
        step for step in shorter if step.at < shorter[-1].at
    ]


@few
@given(seeds)
def test_kr_5_each_step_has_a_function_that_takes_what_was_drawn_for_it(seed: int) -> None:
    functions = functions_in((harm_steps, move_steps, operator_steps), KINDS)
    for step in plan(seed, 90):
        inspect.signature(functions[step.kind]).bind(None, **step.arguments)


@few
@given(seeds)
def test_kr_5_one_broker_and_a_minority_of_controllers_are_harmed_at_a_time_but_where_a_kind_says_so(seed: int) -> None:
    for step in plan(seed, 180):
        if step.lane in (BROKERS, CONTROLLERS):
            assert KINDS[step.kind].harms == (2 if step.kind == "kill_two_controllers" else 1)


def test_kr_5_every_kind_is_drawn_sooner_or_later_and_one_topic_is_never_deleted() -> None:
    drawn: Counter[str] = Counter()
    for seed in range(40):
        steps = plan(seed, 120)
        drawn.update(step.kind for step in steps)
        deleted = {step.arguments["topic"] for step in steps if step.kind == "delete_topic"}
        assert deleted < KRAFT_TOPICS.keys()
    assert drawn.keys() == KINDS.keys()


def test_kr_5_the_short_campaigns_draw_every_kind_but_two_and_those_of_controllers_apart() -> None:
    drawn = {step.kind for seed in SEEDS for step in plan(seed, SECONDS, APART | unknown_to(VERSION))}
    assert KINDS.keys() - drawn == APART | unknown_to(VERSION) | {"freeze_broker", "stop_broker"}


@few
@given(seeds)
def test_kr_5_a_kind_that_is_switched_off_is_not_drawn_and_other_lanes_stay_as_they_are(seed: int) -> None:
    off = {"kill_server", "move"}
    steps = plan(seed, 60, off)
    assert off.isdisjoint(step.kind for step in steps)
    for lane in (
        {step.lane for step in steps} - {SERVERS, *KRAFT_TOPICS} - {"__consumer_offsets", "__transaction_state"}
    ):
        assert [one for one in steps if one.lane == lane] == [one for one in plan(seed, 60) if one.lane == lane]


@few
@given(seeds)
def test_kr_5_targets_have_two_or_three_brokers_each_once(seed: int) -> None:
    for step in plan(seed, 60):
        for target in step.arguments.get("targets", {}).values():
            assert len(set(target)) == len(target) in (2, 3)
            assert set(target) <= set(BROKER_IDS)
