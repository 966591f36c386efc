"""B: what makes a target valid."""

from ..session import Session
from .registry import scenario

BAD = {
    "empty": [],
    "a broker twice": [1, 1],
    "a broker twice, further apart": [1, 2, 3, 1],
    "a negative broker": [-1],
    "negative brokers": [-3, -2, -1],
    "a negative broker among others": [1, -5, 2],
    "negative and twice": [-1, -1],
    "an unknown broker": [99],
    "an unknown broker among others": [1, 99],
    "unknown brokers, and one more that is known": [98, 4, 99],
    "the largest id": [2**31 - 1],
    "unknown and twice": [99, 99],
}


@scenario
async def b01_to_b04_targets_that_are_refused(s: Session) -> None:
    await s.create("t", {index: [1, 2, 3] for index in range(len(BAD))})
    for index, (label, target) in enumerate(BAD.items()):
        await s.alter(label, {("t", index): target})
    await s.state("unchanged")


@scenario
async def b05_b06_a_bad_target_of_what_does_not_exist(s: Session) -> None:
    await s.create("t", {0: [1]})
    await s.alter("unknown topic", {("nope", 0): [1, 2]})
    await s.alter("unknown partition", {("t", 99): [1, 2]})
    await s.alter("unknown topic, bad targets", {("nope", 0): [], ("nope", 1): [1, 1], ("nope", 2): [99]})
    await s.alter("unknown partition, bad targets", {("t", 7): [], ("t", 8): [1, 1], ("t", 9): [99]})


@scenario
async def b07_bad_targets_while_in_flight_change_nothing(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, held=True)
    await s.alter("start", {("t", 0): [3, 4]})
    for label, target in BAD.items():
        await s.alter(label, {("t", 0): target})
    await s.state("still the same move")


@scenario
async def b14_an_internal_topic_is_like_any_other(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, name="__transaction_state")
    (shown,) = (await s.cluster.metadata([s.real("t")]))["topics"]
    s.note("internal", shown["is_internal"])
    await s.alter("target", {("t", 0): [2, 3]})
    await s.settled()
    await s.state("moved")


@scenario
async def b15_partitions_of_a_topic_may_differ_in_size(s: Session) -> None:
    await s.create("t", {0: [1, 2], 1: [2, 3], 2: [3, 4]})
    await s.alter("grow one, shrink another", {("t", 0): [1, 2, 3, 4], ("t", 1): [3]})
    await s.settled()
    await s.state("three sizes")
    await s.alter("all brokers", {("t", 2): [5, 4, 3, 2, 1]})
    await s.settled()
    await s.state("as many replicas as brokers")


@scenario
async def b17_only_adding_replicas_are_looked_at(s: Session) -> None:
    await s.create("t", {0: [1, 2]})
    await s.alter("an unknown broker that is added last", {("t", 0): [2, 1, 42]})
    await s.alter("the order of what is refused", {("t", 0): [77, 2, 55, 66]})
    await s.state("unchanged")
