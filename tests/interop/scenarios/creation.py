"""P: CreateTopics: what is created, and what is refused."""

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)

from ..session import Session
from .registry import scenario


async def create_topics(
    s: Session, label: str, *topics: tuple[object, ...], dry: bool = False, timeout_ms: int = 2_000
) -> None:
    """CreateTopics; records the answer."""
    request = CreateTopicsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=dry)
    answer = await s.cluster.ask(request, 6)
    results = [
        [s.text(t["name"]), t["error_code"], s.text(t["error_message"]), t["num_partitions"], t["replication_factor"]]
        for t in answer["topics"]
    ]
    s.note(label, sorted(results, key=repr))


@scenario
async def p01_topics_that_are_refused(s: Session) -> None:
    await s.create("t", {0: [1]})
    for label, topic in {
        "it exists": (s.real("t"), 1, 1, [], []),
        "no partitions": ("x-zero", 0, 1, [], []),
        "fewer than none": ("x-less", -2, 1, [], []),
        "no replicas": ("x-none", 1, 0, [], []),
        "more replicas than brokers": ("x-many", 1, 9, [], []),
        "both counts and assignments": ("x-both", 2, -1, [(0, [1])], []),
        "an assignment that does not start at 0": ("x-gap", -1, -1, [(1, [1])], []),
        "an assignment with a gap": ("x-gap", -1, -1, [(0, [1]), (2, [1])], []),
        "a broker twice": ("x-twice", -1, -1, [(0, [1, 1])], []),
        "an unknown broker": ("x-unknown", -1, -1, [(0, [1, 99])], []),
        "an empty assignment": ("x-empty", -1, -1, [(0, [])], []),
        "sizes that differ": ("x-sizes", -1, -1, [(0, [1]), (1, [1, 2])], []),
        "an empty name": ("", 1, 1, [], []),
        "a dot": (".", 1, 1, [], []),
        "a space": ("a b", 1, 1, [], []),
        "too long": ("x" * 250, 1, 1, [], []),
        "a wrong config": ("x-config", 1, 1, [], [("retention.ms", "soon")]),
        "an unknown config": ("x-config", 1, 1, [], [("no.such.config", "1")]),
        "a null config": ("x-config", 1, 1, [], [("retention.ms", None)]),
    }.items():
        await create_topics(s, label, topic)


@scenario
async def p02_several_topics_in_one_request(s: Session) -> None:
    mine = f"mine-{s.name}"
    await create_topics(s, "one good, one bad", (mine, 2, 2, [], []), ("a b", 1, 1, [], []))
    await create_topics(s, "twice in one request", ("x-dup", 1, 1, [], []), ("x-dup", 2, 1, [], []))
    await create_topics(s, "names that collide", (mine.replace("-", "."), 1, 1, [], []))
    await create_topics(s, "nothing")


@scenario
async def p03_a_dry_run_creates_nothing(s: Session) -> None:
    await create_topics(s, "good", ("x-dry", 3, 2, [], []), dry=True)
    await create_topics(s, "bad", ("x-dry", 3, 9, [], []), dry=True)
    shown = (await s.cluster.metadata(["x-dry"]))["topics"]
    s.note("unknown", [t["error_code"] for t in shown])


@scenario
async def p04_no_time_to_wait(s: Session) -> None:
    """CreateTopics, CreatePartitions and DeleteTopics with a timeout of 0 or less."""
    await s.create("t", {0: [1, 2]})
    now, later = f"now-{s.name}", f"later-{s.name}"
    await create_topics(s, "dry", (now, 1, 1, [], []), dry=True, timeout_ms=0)
    await create_topics(s, "none", (now, 1, 1, [], []), (later, 0, 1, [], []), timeout_ms=0)
    await create_topics(s, "less than none", (later, 1, 1, [], []), timeout_ms=-1)
    for name in (now, later):
        await s.cluster.until_led(name, 1)
    await create_topics(s, "they exist", (now, 1, 1, [], []), (later, 1, 1, [], []), timeout_ms=0)

    topic = (s.real("t"), 2, [([2, 1],)])
    for label in ("grow", "grow once more"):
        answer = await s.cluster.ask(CreatePartitionsRequest(topics=[topic], timeout_ms=0), 3)
        s.note(label, [[r["error_code"], s.text(r["error_message"])] for r in answer["results"]])
        await s.cluster.until_led(s.real("t"), 2)

    request = DeleteTopicsRequest(topics=[(name, None) for name in (s.real("t"), now, later, "nope")], timeout_ms=0)
    answer = await s.cluster.ask(request, 6)
    s.note("delete", sorted([s.text(r["name"]), r["error_code"]] for r in answer["responses"]))
    await s.until_gone("t")
