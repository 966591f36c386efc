"""O: dynamic configs, as the tools set them around a move."""

from kafka.protocol.admin import AlterConfigsRequest, DescribeConfigsRequest, IncrementalAlterConfigsRequest

from ..clusters import BROKER, DELETE, SET, TOPIC
from ..session import Session
from .registry import scenario

APPEND, SUBTRACT = 2, 3


@scenario
async def o01_throttled_replicas_of_a_topic(s: Session) -> None:
    await s.create("t", {0: [1]})
    leader = "leader.replication.throttled.replicas"
    steps: dict[str, list[tuple[str, int, str | None]]] = {
        "set": [(leader, SET, "0:1,0:2")],
        "append": [(leader, APPEND, "1:1")],
        "append what is there": [(leader, APPEND, "0:1")],
        "subtract": [(leader, SUBTRACT, "0:2")],
        "all": [(leader, SET, "*")],
        "not a list of replicas": [(leader, SET, "0-1")],
        "an empty list": [(leader, SET, "")],
        "delete": [(leader, DELETE, None)],
        "delete again": [(leader, DELETE, None)],
        "twice in one request": [(leader, SET, "0:1"), (leader, SET, "0:2")],
        "a null value": [(leader, SET, None)],
        "an unknown operation": [(leader, 7, "0:1")],
    }
    for label, changes in steps.items():
        await s.configure(label, TOPIC, s.real("t"), changes)


@scenario
async def o02_values_that_are_refused(s: Session) -> None:
    await s.create("t", {0: [1]})
    for label, changes in {
        "not a number": [("retention.ms", SET, "soon")],
        "too small": [("retention.ms", SET, "-2")],
        "too large": [("min.insync.replicas", SET, "99999999999")],
        "not one of the values": [("cleanup.policy", SET, "burn")],
        "an unknown name": [("no.such.config", SET, "1")],
        "append to what is no list": [("retention.ms", APPEND, "1")],
        "not a boolean": [("unclean.leader.election.enable", SET, "perhaps")],
    }.items():
        await s.configure(label, TOPIC, s.real("t"), changes)
    await s.configure("an unknown topic", TOPIC, "nope", [("retention.ms", SET, "1000")])
    await s.configure("no topic", TOPIC, "", [("retention.ms", SET, "1000")])
    rate = "leader.replication.throttled.rate"
    for label, name, changes in (
        ("a negative rate", "2", [(rate, SET, "-1")]),
        ("a rate that is no number", "2", [(rate, SET, "fast")]),
        ("another broker", "3", [(rate, SET, "1")]),
        ("no broker", "two", [(rate, SET, "1")]),
        ("what cannot change", "2", [("broker.id", SET, "9")]),
        ("what cannot change for one broker", "2", [("log.dirs", SET, "elsewhere")]),
    ):
        await s.configure(label, BROKER, name, changes, node=2)
    await s.configure("an unknown kind", 77, "x", [("a", SET, "b")])


@scenario
async def o03_what_describe_shows(s: Session) -> None:
    await s.create("t", {0: [1]})
    await s.configure("set", TOPIC, s.real("t"), [("retention.ms", SET, "1234567"), ("max.message.bytes", SET, "9999")])
    names = ["retention.ms", "max.message.bytes", "cleanup.policy", "no.such.config"]
    request = DescribeConfigsRequest(resources=[(TOPIC, s.real("t"), names)], include_synonyms=False)
    (shown,) = (await s.cluster.ask(request, 4, 2))["results"]
    own = sorted(
        [c["name"], c["value"], c["config_source"], c["config_type"], c["read_only"]] for c in shown["configs"]
    )
    s.note("described", [shown["error_code"], own])
    request = DescribeConfigsRequest(resources=[(TOPIC, "nope", None), (BROKER, "3", None)], include_synonyms=False)
    results = (await s.cluster.ask(request, 4, 2))["results"]
    s.note("refused", sorted([r["error_code"], r["error_message"], len(r["configs"])] for r in results))


@scenario
async def o04_the_old_way_to_alter(s: Session) -> None:
    await s.create("t", {0: [1]})
    for label, configs in {
        "set": [("retention.ms", "1000"), ("max.message.bytes", "9999")],
        "what is not named goes": [("retention.ms", "2000")],
        "a wrong value": [("retention.ms", "soon")],
        "an unknown name": [("no.such.config", "1")],
        "nothing": [],
    }.items():
        answer = await s.cluster.ask(AlterConfigsRequest(resources=[(TOPIC, s.real("t"), configs)]), 2, 2)
        s.note(label, [[r["error_code"], s.text(r["error_message"])] for r in answer["responses"]])
        s.note(f"{label}: stored", await s.stored_configs("t"))


@scenario
async def o05_a_dry_run_stores_nothing(s: Session) -> None:
    await s.create("t", {0: [1]})
    for value in ("1000", "soon"):
        resource = (TOPIC, s.real("t"), [("retention.ms", SET, value)])
        answer = await s.cluster.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=True), 1, 2)
        s.note(value, [[r["error_code"], s.text(r["error_message"])] for r in answer["responses"]])
    s.note("stored", await s.stored_configs("t"))
