"""The end of a campaign on KRaft: the cluster comes to rest, and every check is made."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from kafka_reassign_rpc.client import KafkaError, PartitionInfo, PartitionReassignment
from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.campaign import checks
from tests.campaign.facts import Facts, State, Topic
from tests.campaign.generator import INTERNAL_TOPICS
from tests.campaign.verdict import AGAIN_S, CheckFailed, Counts, demand, judge_records

from . import intent_checks, rule_checks
from .kraft_plan import BROKER_IDS
from .kraft_site import STATE_TOPIC, KRaftSite
from .move_steps import cancelled

PATIENCE_S = 180.0
"""For the cluster to come to rest. After a take-over a move may be watched for more than a minute."""


async def kraft_judge(site: KRaftSite, say: Callable[[str], None]) -> Counts:
    """Raises CheckFailed for the first check that fails."""
    await asyncio.to_thread(site.load.finish)
    say("all records are taken or given up; the cluster comes to rest")
    began = time.monotonic()
    facts = await _rest(site)
    say(f"the cluster is at rest after {time.monotonic() - began:.0f} s; all records are read")
    demand("logs", checks.server_logs({name: one.log for name, one in site.running.items()}))
    told = intent_checks.story(site.audit.rounds)
    replicas = {
        TopicPartition(name, index): tuple(some)
        for name, topic in facts.topics.items()
        for index, some in topic.replicas.items()
    }
    behind = site.requests.behind
    say(
        f"{len(site.audit.claims)} claims, {len(told.lives)} moves, {told.outcomes.total()} outcomes, "
        f"{len(site.requests.of_ours)} asked of ours, {len(behind)} behind"
    )
    demand("outcomes", intent_checks.each_once(told))
    demand("event logs", await _in_events(site, told))
    demand("acknowledged", intent_checks.acknowledged(told, site.requests.of_ours, behind))
    demand("others", list(intent_checks.nobody_else(told, behind, site.deleted)))
    demand("as decided", list(intent_checks.as_decided(told, behind, replicas, site.created)))
    demand("rules", list(rule_checks.by_rules(site.audit.rounds, site.lost)))
    demand("cordons", list(rule_checks.not_over_cordons(told, site.cordons)))
    return await judge_records(site.load, site.topics, site.admin, _leaders_dirs(site, facts))


def _leaders_dirs(site: KRaftSite, facts: Facts) -> Callable[[str, int], Any]:
    async def dirs(topic: str, index: int) -> Any:
        return [site.directory / str(facts.states[topic, index].leader) / "data"]

    return dirs


async def _in_events(site: KRaftSite, told: intent_checks.Story) -> list[str]:
    deadline = time.monotonic() + 10
    while differences := intent_checks.in_events(told, site.events()):
        if time.monotonic() > deadline:
            break
        await asyncio.sleep(AGAIN_S)
    return differences


async def _rest(site: KRaftSite) -> Facts:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        name, differences, facts = "facts", ["nothing was read"], Facts()
        try:
            facts = await _facts(site)
            told = intent_checks.story(site.audit.rounds)
            await _end_what_others_left(site, told)
            found = {
                "topics": checks.expected_topics(facts, site.topics),
                "leaders": checks.leaders(facts),
                "moves": checks.moves(facts),
                "intents": intent_checks.still_open(told),
                "in-sync replicas": checks.in_sync(facts),
                "throttles": checks.throttles(facts),
            }
            name, differences = next(((one, some) for one, some in found.items() if some), ("", []))
        except KafkaError as error:
            differences = [f"{error.name}: {error}"]
        if not differences:
            return facts
        if time.monotonic() > deadline:
            raise CheckFailed(name, differences)
        await asyncio.sleep(AGAIN_S)


async def _end_what_others_left(site: KRaftSite, told: intent_checks.Story) -> None:
    """As its operator does: where one Alter of others meets another one in flight, KRaft may never end the move. We say
    so, and leave it alone."""
    ours = {one.name for one in told.open}
    async with site.cluster() as client:
        moving = await client.list_partition_reassignments()
    endless = [name for name, one in moving.items() if name not in ours and _never_ends(one)]
    if endless:
        await cancelled(site.cluster(), site.requests.behind, endless)


def _never_ends(move: PartitionReassignment) -> bool:
    return SeenPartition(move.replicas, move.adding_replicas, move.removing_replicas).never_ends


async def _facts(site: KRaftSite) -> Facts:
    """As a broker shows it. Raises KafkaError."""
    names = [*site.topics, *INTERNAL_TOPICS, STATE_TOPIC]
    async with site.cluster() as client:
        live = frozenset(one.id for one in await client.describe_cluster())
        moving = await client.list_partition_reassignments()
        found = await client.find_topics(names)
        configs: dict[Any, Any] = dict(
            await client.describe_configs([(TOPIC, name) for name in names] + [(BROKER, "")])
        )
        configs |= {
            (BROKER, str(one)): some for one, some in (await client.describe_broker_configs(BROKER_IDS)).items()
        }
    throttles = {}
    for (kind, name), some in configs.items():
        if isinstance(some, KafkaError):
            raise some
        if set_ := {one.name: one.value for one in some if ".throttled." in one.name}:
            throttles[f"{kind} {name}"] = set_
    for one in found.values():
        if one.error is not None:
            raise one.error
    return Facts(
        live=live,
        topics={
            name: Topic(
                one.topic_id,
                {index: partition.replicas for index, partition in one.partitions.items()},
                frozenset(index for topic, index in moving if topic == name),
            )
            for name, one in found.items()
        },
        states={(name, index): _state(some) for name, one in found.items() for index, some in one.partitions.items()},
        throttles=throttles,
    )


def _state(found: PartitionInfo) -> State:
    return State(found.leader, tuple(found.isr), found.leader_epoch)
