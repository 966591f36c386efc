"""P: CreateTopics: what is created, and what is refused."""

from kafka.protocol.admin import CreateTopicsRequest

from ..session import Session
from .registry import scenario


async def _create(s: Session, label: str, *topics: tuple[object, ...], dry: bool = False) -> None:
    request = CreateTopicsRequest(topics=list(topics), timeout_ms=2_000, validate_only=dry)
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
        await _create(s, label, topic)


@scenario
async def p02_several_topics_in_one_request(s: Session) -> None:
    mine = f"mine-{s.name}"
    await _create(s, "one good, one bad", (mine, 2, 2, [], []), ("a b", 1, 1, [], []))
    await _create(s, "twice in one request", ("x-dup", 1, 1, [], []), ("x-dup", 2, 1, [], []))
    await _create(s, "names that collide", (mine.replace("-", "."), 1, 1, [], []))
    await _create(s, "nothing")


@scenario
async def p03_a_dry_run_creates_nothing(s: Session) -> None:
    await _create(s, "good", ("x-dry", 3, 2, [], []), dry=True)
    await _create(s, "bad", ("x-dry", 3, 9, [], []), dry=True)
    shown = (await s.cluster.metadata(["x-dry"]))["topics"]
    s.note("unknown", [t["error_code"] for t in shown])
