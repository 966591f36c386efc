"""`kafka-reassign heal` (KIP-46): its command line, and its output for given answers of a server."""

import argparse
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_reassign_rpc.client import (
    ApprovalOutcome,
    BrokerRepair,
    FailedBroker,
    GoneBroker,
    HealingStatus,
    LogDirFailure,
    Repair,
    RepairCost,
    RepairMove,
    TopicPartition,
)
from kafka_reassign_rpc.core.healing.self_healing_status import with_fates
from kafka_reassign_rpc.reassign_command.action_context import Output
from kafka_reassign_rpc.reassign_command.action_heal import COMMAND, MOVES_SHOWN
from kafka_reassign_rpc.reassign_command.command_errors import UnreadableCommandLine
from kafka_reassign_rpc.reassign_command.main import COMMANDS, help_text, parse_command
from tests.reassign_command.run_command import kafka_reassign
from tests.tables import for_each

SERVER = ("--bootstrap-server", "h:1")
OFF = HealingStatus(None, False, None, (), 0, 0)
LOST = HealingStatus(
    90_000,
    True,
    "healing is paused",
    (FailedBroker(3, 1_767_225_600_000, None, 7), FailedBroker(4, 1_767_225_601_000, None, 1)),
    waiting=5,
    moving=2,
    problems=("2 partitions stay as they are: replication factor 5 is larger than the 4 brokers",),
)
NO_COST = {"bytes": None, "copyMs": None, "unsizedCopies": 0}
PAUSED_FATE = "not healed before self-healing is resumed"
RESUME = "kafka-reassign heal --bootstrap-server HOST:PORT --resume"
MOVE = RepairMove(TopicPartition("t", 0), (3, 1), (1, 2))


class Client:
    """A client with fixed answers. `did` holds the calls that change something."""

    def __init__(self, status: HealingStatus = OFF, repair: Repair | None = None) -> None:
        self.did: list[tuple[object, ...]] = []
        self.approved = ApprovalOutcome(0, 0, ())
        self._status = with_fates(status)
        self._repair = repair or Repair((), {}, None)

    def healing_status(self) -> HealingStatus:
        return self._status

    def heal_broker(self, broker: int, *, dry_run: bool = False) -> Repair:
        self.did.append(("heal", broker, dry_run))
        return self._repair

    def approve_repairs(self, brokers: frozenset[int] | None) -> ApprovalOutcome:
        self.did.append(("approve", brokers))
        return self.approved

    def pause_healing(self) -> None:
        self.did.append(("pause",))

    def resume_healing(self) -> None:
        self.did.append(("resume",))


def asked(*arguments: str) -> argparse.Namespace:
    found = parse_command(["heal", *arguments])
    assert found is not None
    return found[1]


def printed_lines(capsys: pytest.CaptureFixture[str], client: Client, *arguments: str) -> list[str]:
    """Run `heal` with these arguments, and give the printed lines."""
    wanted = asked(*SERVER, *arguments)
    output = Output(sys.stdout, as_json=wanted.json)
    context: Any = SimpleNamespace(client=client, output=output)
    COMMAND.run(context, wanted)
    output.finish()
    return capsys.readouterr().out.splitlines()


@for_each(
    ("arguments", "why"),
    [
        ((), "the following arguments are required: --bootstrap-server"),
        ((*SERVER, "--now"), "argument --now: expected one argument"),
        ((*SERVER, "--now", "three"), "argument --now: expected the id of a broker, got [hidden]"),
        ((*SERVER, "--now", "2147483648"), "argument --now: expected the id of a broker, got [hidden]"),
        ((*SERVER, "--now", "9" * 5000), "argument --now: expected the id of a broker, got [hidden]"),
        ((*SERVER, "--pause", "--resume"), "argument --resume: not allowed with argument --pause"),
        ((*SERVER, "--status", "--now", "3"), "argument --now: not allowed with argument --status"),
        ((*SERVER, "--throttle", "5"), "unrecognized arguments: --throttle 5"),
        ((*SERVER, "--brokers", "3"), "--brokers goes with --approve"),
        ((*SERVER, "--now", "3", "--brokers", "3"), "--brokers goes with --approve"),
        ((*SERVER, "--approve", "--brokers", "three"), "argument --brokers: expected "),
        ((*SERVER, "--approve", "--now", "3"), "argument --now: not allowed with argument --approve"),
        ((*SERVER, "--approve", "--dry-run"), "--dry-run goes with --now, or alone"),
        ((*SERVER, "--pause", "--dry-run"), "--dry-run goes with --now, or alone"),
    ],
)
def test_46_a_command_line_that_cannot_be_read_is_refused_with_the_reason(arguments: tuple[str, ...], why: str) -> None:
    with pytest.raises(UnreadableCommandLine) as refused:
        asked(*arguments)
    assert str(refused.value).startswith(f"kafka-reassign heal: {why}")


@for_each(
    ("line", "name"),
    [
        ("heal --bootstrap-server h:1 --status", "heal"),
        ("--bootstrap-server h:1 heal --dry-run", "heal"),
        ("--json --bootstrap-server h:1 --now 3 heal", "heal"),
        ("--json heal --bootstrap-server h:1", "heal"),
        ("--bootstrap-server h:1 events --topic heal", "events"),
        ("--bootstrap-server h:1 --topic heal events", "events"),
        ("--bootstrap-server heal --list", None),
        ("--list -- heal", None),
        ("--bootstrap-server h:1 --list", None),
    ],
)
def test_46_heal_may_come_after_options_but_is_no_command_as_the_value_of_one(line: str, name: str | None) -> None:
    found = parse_command(line.split())
    assert (None if found is None else found[0].name) == name


async def test_46_heal_behind_an_option_is_not_taken_for_another_action() -> None:
    refused = await kafka_reassign("--bootstrap-server", "h:1", "heal", "--pause", "--dry-run")
    assert refused.code == 1
    assert refused.err.endswith("\nkafka-reassign heal: --dry-run goes with --now, or alone\n")


def test_46_the_help_of_the_command_leads_to_that_of_heal(capsys: pytest.CaptureFixture[str]) -> None:
    assert any(line.startswith("heal  ") for line in help_text(COMMANDS.values()).splitlines())
    with pytest.raises(SystemExit) as ended:
        asked("--help")
    assert ended.value.code == 0
    assert "failure.interval.ms" in capsys.readouterr().out


def test_46_1_and_46_6_the_status_says_who_is_lost_since_when_and_what_holds_repairs_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert printed_lines(capsys, Client()) == [
        "Healing is off (failure.interval.ms=-1).",
        "No broker that holds replicas is lost.",
    ]
    assert printed_lines(capsys, Client(LOST), "--status") == [
        "A broker that is gone for 90 s is healed (failure.interval.ms).",
        "Healing is paused.",
        f"Broker 3: gone since 2026-01-01 00:00:00 UTC, 7 replicas, {PAUSED_FATE}: {RESUME}",
        f"Broker 4: gone since 2026-01-01 00:00:01 UTC, 1 replica, {PAUSED_FATE}: {RESUME}",
        "Held back: healing is paused.",
        "Problem: 2 partitions stay as they are: replication factor 5 is larger than the 4 brokers.",
        "Repairs: 2 moves in flight, 5 waiting.",
    ]
    [document] = map(json.loads, printed_lines(capsys, Client(LOST), "--json"))
    paused = {"healAt": None, "impossible": 0, "fate": PAUSED_FATE, "command": RESUME, **NO_COST}
    assert document == {
        "intervalMs": 90_000,
        "paused": True,
        "approvalRequired": False,
        "heldBack": "healing is paused",
        "goneBrokers": [],
        "problems": ["2 partitions stay as they are: replication factor 5 is larger than the 4 brokers"],
        "waitingMoves": 5,
        "activeMoves": 2,
        "repairs": [],
        "failedLogDirs": [],
        "failedBrokers": [
            {"broker": 3, "since": 1_767_225_600_000, "replicas": 7, **paused},
            {"broker": 4, "since": 1_767_225_601_000, "replicas": 1, **paused},
        ],
    }


def test_46_6_the_status_names_the_brokers_whose_repair_is_under_way_and_says_which_are_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    repairs = (BrokerRepair(3, waiting=4, moving=1), BrokerRepair(5, waiting=0, moving=2, is_back=True))
    client = Client(HealingStatus(90_000, False, None, (), 4, 3, repairs=repairs))
    assert printed_lines(capsys, client, "--status")[1:] == [
        "Broker 3: its repair is under way: 1 move in flight, 4 waiting",
        "Broker 5: it is back, its repair goes on: 2 moves in flight, 0 waiting",
        "Repairs: 3 moves in flight, 4 waiting.",
    ]
    [document] = map(json.loads, printed_lines(capsys, client, "--json"))
    none = {"unapprovedMoves": 0, "heldMoves": 0, "command": None, **NO_COST}
    fates = [line.partition(": ")[2] for line in printed_lines(capsys, client)[1:3]]
    assert document["repairs"] == [
        {"broker": 3, "activeMoves": 1, "waitingMoves": 4, "isBack": False, "fate": fates[0], **none},
        {"broker": 5, "activeMoves": 2, "waitingMoves": 0, "isBack": True, "fate": fates[1], **none},
    ]


def test_dh_8_the_status_says_what_waits_for_approval_and_how_to_give_it(capsys: pytest.CaptureFixture[str]) -> None:
    repairs = (BrokerRepair(3, waiting=4, moving=0, unapproved=4), BrokerRepair(5, waiting=3, moving=1, unapproved=1))
    client = Client(HealingStatus(90_000, False, None, (), 7, 1, repairs=repairs, approval=True, unapproved=5))
    assert printed_lines(capsys, client)[1:4] == [
        "Each repair waits until it is approved (self.healing.approval=required).",
        "Broker 3: its repair is under way: 0 moves in flight, 4 waiting (4 for approval):"
        " kafka-reassign heal --bootstrap-server HOST:PORT --approve --brokers 3",
        "Broker 5: its repair is under way: 1 move in flight, 3 waiting (1 for approval):"
        " kafka-reassign heal --bootstrap-server HOST:PORT --approve --brokers 5",
    ]
    [document] = map(json.loads, printed_lines(capsys, client, "--json"))
    assert (document["approvalRequired"], [one["unapprovedMoves"] for one in document["repairs"]]) == (True, [4, 1])


def test_dh_8_no_time_is_promised_for_a_repair_that_waits_for_approval(
    capsys: pytest.CaptureFixture[str],
) -> None:
    at = 1_767_225_600_000
    gone, dirs = FailedBroker(3, at, at + 60_000, 7), LogDirFailure(4, ("/d",), at, at + 60_000, 1)
    client = Client(HealingStatus(60_000, False, None, (gone,), 0, 0, approval=True, log_dirs=(dirs,)))
    assert [line.rpartition(", ")[2] for line in printed_lines(capsys, client)[2:]] == [
        "ready for approval at 2026-01-01 00:01:00 UTC"
    ] * 2


def test_dh_1_and_dh_3_the_status_names_all_that_is_lost_whatever_waits(capsys: pytest.CaptureFixture[str]) -> None:
    at = 1_767_225_600_000
    gone = (GoneBroker(7, at, 0, 29), GoneBroker(8, None, 3, 0))
    disks = (LogDirFailure(9, ("/d",), at, None, 0),)
    repairs = (BrokerRepair(8, 3, 0, unapproved=3), BrokerRepair(9, 2, 0))
    client = Client(HealingStatus(60_000, False, None, (), 5, 0, repairs=repairs, log_dirs=disks, gone=gone))
    awaited = "and nothing repairs that: cancel them, give them another target, or bring the broker back"
    approve = "kafka-reassign heal --bootstrap-server HOST:PORT --approve --brokers 8"
    assert printed_lines(capsys, client)[1:-1] == [
        f"Broker 7: gone since 2026-01-01 00:00:00 UTC, 29 moves wait for it, {awaited}",
        f"Broker 8: gone, its repair is under way: 0 moves in flight, 3 waiting (3 for approval): {approve}",
        "Broker 9: log dir /d failed since 2026-01-01 00:00:00 UTC, its repair is under way: 0 moves in flight,"
        " 2 waiting",
    ]
    [document] = map(json.loads, printed_lines(capsys, client, "--json"))
    fates: list[dict[str, Any]] = [
        {"fate": f"29 moves wait for it, {awaited}", "command": None},
        {"fate": "its repair is under way: 0 moves in flight, 3 waiting (3 for approval)", "command": approve},
    ]
    assert document["goneBrokers"] == [
        {"broker": 7, "since": at, "repaired": 0, "awaited": 29, **fates[0]},
        {"broker": 8, "since": None, "repaired": 3, "awaited": 0, **fates[1]},
    ]


def test_dh_8_the_status_and_a_dry_run_say_what_a_repair_costs(capsys: pytest.CaptureFixture[str]) -> None:
    cost = RepairCost(2_000_000, 90_000)
    failed = (FailedBroker(3, 1_767_225_600_000, None, 7, cost),)
    repairs = (BrokerRepair(5, waiting=2, moving=1, cost=cost),)
    disks = (LogDirFailure(9, ("/d",), 1_767_225_600_000, None, 4, cost),)
    status = HealingStatus(None, False, None, failed, 2, 1, repairs=repairs, log_dirs=disks)
    client = Client(status, Repair((MOVE,), {}, cost.bytes, cost.copy_ms))
    copy = "2.0 MB to copy in about 1 min 30 s"
    by_hand = "never healed by itself: kafka-reassign heal --bootstrap-server HOST:PORT --now"
    assert printed_lines(capsys, client)[1:4] == [
        f"Broker 3: gone since 2026-01-01 00:00:00 UTC, 7 replicas, {copy}, {by_hand} 3",
        f"Broker 9: log dir /d failed since 2026-01-01 00:00:00 UTC, 4 replicas, {copy}, {by_hand} 9",
        f"Broker 5: {copy}, its repair is under way: 1 move in flight, 2 waiting",
    ]
    assert printed_lines(capsys, client, "--dry-run")[0] == "Broker 3: 1 move, 2.0 MB to copy in about 1 min 30 s"
    [document] = map(json.loads, printed_lines(capsys, client, "--json"))
    shown = document["failedBrokers"] + document["repairs"] + document["failedLogDirs"]
    wanted = (cost.bytes, cost.copy_ms, cost.unsized)
    assert [(one["bytes"], one["copyMs"], one["unsizedCopies"]) for one in shown] == [wanted] * 3


def test_dh_8_an_approval_says_what_may_start_now(capsys: pytest.CaptureFixture[str]) -> None:
    client = Client()
    assert printed_lines(capsys, client, "--approve") == ["No repair waits for approval."]
    client.approved = ApprovalOutcome(5, 1, (3, 7))
    assert printed_lines(capsys, client, "--approve", "--brokers", "3,7") == [
        "5 moves of the repair of brokers 3, 7 may start.",
        "1 move is also held: kafka-reassign release --bootstrap-server HOST:PORT --all",
    ]
    assert printed_lines(capsys, client, "--approve", "--json") == ['{"approved":5,"held":1,"brokers":[3,7]}']
    assert client.did == [("approve", None), ("approve", {3, 7}), ("approve", None)]


def test_dh_8_a_dry_run_says_that_a_repair_has_begun_or_waits_and_how_it_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    repairs = (BrokerRepair(3, waiting=4, moving=0, unapproved=4),)
    client = Client(HealingStatus(90_000, False, None, (), 4, 0, repairs=repairs, approval=True, unapproved=4))
    assert printed_lines(capsys, client, "--dry-run") == [
        "Broker 3: its repair is in the queue or under way: kafka-reassign --bootstrap-server HOST:PORT --list shows"
        " where its replicas go"
    ]


def test_dh_1_a_dry_run_of_every_lost_broker_names_one_that_has_nothing_left_to_repair(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The controller plans no repair of it: asked for one, it refuses, and the others would not be shown."""
    since = 1_767_225_600_000
    lost = HealingStatus(None, False, None, (FailedBroker(3, since, None, 0), FailedBroker(4, since, None, 1)), 0, 0)
    client = Client(lost, Repair((MOVE,), {}, 5))
    lines = printed_lines(capsys, client, "--dry-run")
    assert client.did == [("heal", 4, True)]
    assert lines[:2] == ["Broker 3: moves in flight take all of its replicas away", "Broker 4: 1 move, 5 B to copy"]


def test_46_3_a_dry_run_shows_the_repair_of_every_lost_broker_and_what_has_to_stay(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stays = {TopicPartition("u", 4): "no live replica is in sync"}
    client = Client(LOST, Repair((MOVE,), stays, 2_000_000))
    lines = printed_lines(capsys, client, "--dry-run")
    assert client.did == [("heal", 3, True), ("heal", 4, True)]
    assert lines[:3] == [
        "Broker 3: 1 move, 2.0 MB to copy",
        "  t-0: [3, 1] -> [1, 2]",
        "  u-4 stays as it is: no live replica is in sync",
    ]
    [document] = map(json.loads, printed_lines(capsys, client, "--dry-run", "--now", "3", "--json"))
    assert document == {
        "repairs": [
            {
                "broker": 3,
                "bytes": 2_000_000,
                "copyMs": None,
                "unsizedCopies": 0,
                "moves": [{"topic": "t", "partition": 0, "replicas": [3, 1], "target": [1, 2]}],
                "leftOut": [{"topic": "u", "partition": 4, "reason": "no live replica is in sync"}],
            }
        ],
        "dryRun": True,
    }
    many = Repair((MOVE,) * (MOVES_SHOWN + 2), {}, None)
    assert (
        printed_lines(capsys, Client(LOST, many), "--dry-run", "--now", "3")[-1] == "  … and 2 more (--json shows all)"
    )
    assert printed_lines(capsys, Client(), "--dry-run") == ["No broker that holds replicas is lost."]


def test_46_6_an_order_to_heal_and_the_switch_do_one_thing_each(capsys: pytest.CaptureFixture[str]) -> None:
    client = Client(repair=Repair((MOVE, MOVE), {}, None))
    assert printed_lines(capsys, client, "--now", "3") == ["Broker 3: 2 moves joined the queue."]
    assert printed_lines(capsys, client, "--pause")[0].startswith("Healing is paused: ")
    assert printed_lines(capsys, client, "--resume") == ["Healing is not paused any more."]
    assert client.did == [("heal", 3, False), ("pause",), ("resume",)]


def test_46_6_an_order_to_heal_that_finds_nothing_to_do_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed_lines(capsys, Client(), "--now", "3") == ["Broker 3: nothing to repair."]
    assert printed_lines(capsys, Client(), "--dry-run", "--now", "3") == ["Broker 3: nothing to repair"]
    stays = Client(repair=Repair((), {TopicPartition("u", 4): "no live replica is in sync"}, None))
    assert printed_lines(capsys, stays, "--now", "3") == [
        "Broker 3: nothing can be repaired now.",
        "  u-4 stays as it is: no live replica is in sync",
    ]


async def test_46_6_a_command_line_that_cannot_be_read_ends_with_1_and_says_why() -> None:
    refused = await kafka_reassign("heal", "--bootstrap-server", "h:1", "--now", "three")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.splitlines()[-1] == (
        "kafka-reassign heal: argument --now: expected the id of a broker, got [hidden]"
    )
