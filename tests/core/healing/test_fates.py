"""One line for each lost broker: what is lost, what happens next, when, or the command that makes it happen."""

from typing import Any

from kafka_reassign_rpc.core.healing.repair_targets import RepairCost
from kafka_reassign_rpc.core.healing.self_healing_status import (
    ENABLE,
    NOTHING_LEFT,
    BrokerRepair,
    FailedBroker,
    GoneBroker,
    HealingStatus,
    Left,
    LogDirFailure,
    Lost,
    UnrepairedPartition,
    what_and_fate,
    with_fates,
)
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.tables import for_each

AT = 1_764_194_400_000
HEAL = "kafka-reassign heal --bootstrap-server HOST:PORT"
TOO_FEW = "replication factor 3 is larger than the 2 brokers that can hold a replica"
LEFT: Left = {TopicPartition("t", at): UnrepairedPartition(frozenset({8}), TOO_FEW) for at in range(2)}


def line_of(
    lost: FailedBroker | LogDirFailure | GoneBroker | None,
    enable: str | None = None,
    left: Left = NOTHING_LEFT,
    **changes: Any,
) -> tuple[str, str]:
    """The line of broker 8 and its command; None: of its repair, while it is back."""
    terms = {"interval_ms": 60_000, "paused": False, "held_back": None, "waiting": 0, "moving": 0, **changes}
    kinds = {FailedBroker: "failed", LogDirFailure: "log_dirs", GoneBroker: "gone"}
    lists: dict[str, Any] = {name: [lost] if isinstance(lost, kind) else [] for kind, name in kinds.items()}
    status = with_fates(HealingStatus(**lists, **terms), enable, left)
    every: list[Lost | BrokerRepair] = [*status.failed, *status.log_dirs, *status.gone, *status.other_repairs]
    [one] = every
    return what_and_fate(one), one.command


def failed(heal_at: int | None = None, replicas: int = 3, cost: RepairCost | None = None) -> FailedBroker:
    return FailedBroker(8, AT, heal_at, replicas, cost)


def repair(waiting: int = 0, moving: int = 0, **changes: Any) -> dict[str, Any]:
    return {"repairs": [BrokerRepair(8, waiting, moving, **changes)]}


NEXT = "2025-11-26 22:01:00 UTC"
UNDER_WAY = "its repair is under way: 0 moves in flight, 4 waiting"
GONE = GoneBroker(8, AT, 4, 0)


@for_each(
    ("lost", "around", "text", "typed"),
    [
        (failed(AT + 60_000), {}, f"3 replicas, healed at {NEXT}", ""),
        (failed(AT + 60_000), {"approval": True}, f"3 replicas, ready for approval at {NEXT}", ""),
        (failed(), {"interval_ms": None}, "3 replicas, never healed by itself", f"{HEAL} --now 8"),
        (failed(), {"paused": True}, "3 replicas, not healed before self-healing is resumed", f"{HEAL} --resume"),
        (
            failed(),
            {"paused": True, "interval_ms": None},
            "3 replicas, not healed before self-healing is resumed, and then only by heal --now",
            f"{HEAL} --resume",
        ),
        (failed(), {"held_back": "two are gone"}, "3 replicas, not healed while self-healing is held back", ""),
        (
            failed(),
            {"enable": ENABLE},
            "3 replicas, not healed while reassignments are disabled",
            "kafka-reassign --bootstrap-server HOST:PORT --enable",
        ),
        (failed(), {"enable": ""}, "3 replicas, not healed while reassignments are disabled", ""),
        (
            failed(AT + 60_000, 2),
            {"left": LEFT},
            f"2 replicas, none of them can be moved now: {TOO_FEW}; tried again at {NEXT}",
            "",
        ),
        (
            failed(AT + 60_000),
            {"left": LEFT},
            f"3 replicas, 2 of them cannot be moved now: {TOO_FEW}; tried again at {NEXT}",
            "",
        ),
        (failed(None, 2), {"left": LEFT}, f"2 replicas, none of them can be moved now: {TOO_FEW}", ""),
        (
            failed(AT + 60_000, 2),
            {"left": LEFT, **repair(0, 4)},
            f"2 replicas, none of them can be moved now: {TOO_FEW}; tried again at {NEXT};"
            " its repair is under way: 4 moves in flight, 0 waiting",
            "",
        ),
        (failed(replicas=0), {}, "moves in flight take all of its replicas away", ""),
        (
            failed(AT + 60_000, cost=RepairCost(2_000_000, 90_000)),
            {},
            f"3 replicas, 2.0 MB to copy in about 1 min 30 s, healed at {NEXT}",
            "",
        ),
        (
            failed(AT + 60_000, cost=RepairCost(2_000_000, None, 1)),
            {},
            f"3 replicas, at least 2.0 MB to copy, healed at {NEXT}",
            "",
        ),
        (LogDirFailure(8, ("/d",), AT, None, None), {}, "offline replicas not known yet", ""),
        (
            LogDirFailure(8, ("/d",), AT, None, 2),
            {"interval_ms": None},
            "2 replicas, never healed by itself",
            f"{HEAL} --now 8",
        ),
        (LogDirFailure(8, ("/d",), AT, None, 0), repair(4), UNDER_WAY, ""),
        (GONE, repair(4), UNDER_WAY, ""),
        (
            GONE,
            repair(4, unapproved=3, held=1),
            f"{UNDER_WAY} (3 for approval, 1 held)",
            f"{HEAL} --approve --brokers 8",
        ),
        (
            GONE,
            repair(4, held=4),
            f"{UNDER_WAY} (4 held)",
            "kafka-reassign release --bootstrap-server HOST:PORT --broker 8",
        ),
        (
            GONE,
            {**repair(4, unapproved=4), "paused": True},
            f"{UNDER_WAY} (4 for approval), until self-healing is resumed",
            f"{HEAL} --resume",
        ),
        (GONE, {**repair(4), "held_back": "two"}, f"{UNDER_WAY}, until self-healing is no longer held back", ""),
        (
            GONE,
            {**repair(4), "enable": ENABLE},
            f"{UNDER_WAY}, until reassignments are enabled",
            "kafka-reassign --bootstrap-server HOST:PORT --enable",
        ),
        (GONE, {**repair(4), "enable": ""}, f"{UNDER_WAY}, until reassignments are enabled", ""),
        (
            GoneBroker(8, AT, 0, 2),
            {},
            "2 moves wait for it, and nothing repairs that: cancel them, give them another target, or bring the broker"
            " back",
            "",
        ),
        (None, repair(1, 2, is_back=True), "it is back, its repair goes on: 2 moves in flight, 1 waiting", ""),
    ],
)
def test_dh_1_each_lost_broker_has_one_line_with_what_is_lost_what_happens_next_and_what_makes_it_happen(
    lost: FailedBroker | LogDirFailure | GoneBroker | None, around: dict[str, Any], text: str, typed: str
) -> None:
    assert line_of(lost, **around) == (text, typed)
