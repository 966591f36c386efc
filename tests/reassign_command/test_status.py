"""--status: the whole cluster in a terminal."""

import io
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_reassign_rpc.client import (
    BrokerState,
    ControllerState,
    KafkaError,
    LogDirs,
    PartitionInfo,
    PartitionReassignment,
    PastFigures,
    Point,
    Progress,
    ProgressSnapshot,
    ReassignmentClient,
    ReplicaLogDir,
    TopicPartition,
    text_format,
)
from kafka_reassign_rpc.client.config_calls import Config, Configs
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.controller.duties.progress_sampling import Sampling
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.core.reassignment_settings import MAX_BYTES_IN_FLIGHT, MAX_PER_BROKER, MAX_PER_CLUSTER
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE
from kafka_reassign_rpc.protocol.messages import ControlledShutdownRequest
from kafka_reassign_rpc.reassign_command import action_status
from kafka_reassign_rpc.reassign_command.action_status import Seen, lines
from kafka_reassign_rpc.reassign_command.merged_events import newest_events
from kafka_reassign_rpc.reassign_command.output import Output
from kafka_reassign_rpc.reassign_command.status_figures import (
    CopyRates,
    PartitionCounts,
    copy_rates,
    count_partitions,
    elected,
    leader_sizes,
    origin_of,
    originals,
    requesters,
)
from tests.controller.cluster import RATE, SIZE, Cluster, cluster
from tests.http_client import get
from tests.reassign_command.run_command import Command
from tests.reassign_command.test_events import Servers, event
from tests.waiting import eventually

NAME = TopicPartition("t", 0)
MOVE = PartitionReassignment((3, 4, 1, 2), (3, 4), (1, 2))


def test_sv_11_partitions_are_counted_without_the_replicas_that_moves_add() -> None:
    topic = TopicInfo(
        "t",
        {
            0: PartitionInfo(1, (3, 4, 1, 2), (1, 2)),
            1: PartitionInfo(-1, (1, 2), (2,)),
            2: PartitionInfo(2, (2, 1), (2,)),
        },
        None,
    )
    counts = count_partitions([topic], {NAME: MOVE})
    assert (counts.under_replicated, counts.offline) == (2, 1)
    assert counts.replicas == Counter({1: 3, 2: 3, 3: 1, 4: 1})
    assert counts.leaders == Counter({1: 1, 2: 1})


def test_sv_11_rates_come_from_two_looks_and_a_broker_that_told_one_size_has_none() -> None:
    def sizes(broker: int, size: int, error: str | None = None) -> LogDirs:
        return LogDirs(broker, {} if error else {NAME: ReplicaLogDir(size=size)}, error)

    rates = copy_rates(
        {NAME: MOVE}, {NAME: 1}, [sizes(3, 100), sizes(4, 0, "no answer")], [sizes(3, 500), sizes(4, 900)], 2.0
    )
    assert (rates.into, rates.out_of) == ({3: 200, 4: None}, {1: None})
    answered = [sizes(3, 100), LogDirs(4)]
    rates = copy_rates({NAME: MOVE}, {NAME: 1}, answered, [sizes(3, 500), sizes(4, 900)], 2.0)
    assert (rates.into, rates.out_of) == ({3: 200, 4: 450}, {1: 650})


def test_sv_11_events_tell_who_asked_and_since_when_the_controller_is_one() -> None:
    base = {"topic": "t", "partition": 0, "server": 7, "epoch": 3, "at": 5}
    waits = {**base, "event": "move.waiting", "who": "User:a", "principal": "User:a"}
    starts = {**base, "event": "move.started", "who": "znode /admin/reassign_partitions_queue"}
    assert requesters([waits, starts]).of("t", 0) == "User:a"
    assert requesters([starts]).of("t", 0) == "znode /admin/reassign_partitions_queue"
    won = {"server": 7, "epoch": 4, "at": 9, "event": "controller.elected"}
    assert elected([waits, won, {**won, "server": 8, "epoch": 5}], 7) == (4, 9)
    assert elected([waits], 7) == (3, None)
    assert elected([], 7) == (None, None)


def test_sv_11_the_original_replicas_have_the_order_that_events_tell() -> None:
    starts = {"topic": "t", "partition": 0, "event": "move.started", "original": [2, 1]}
    told = originals([{**starts, "original": [9]}, starts, {"event": "broker.lost", "broker": 3}])
    assert told == {NAME: (2, 1)}
    assert origin_of(MOVE, told[NAME]) == [2, 1]
    assert origin_of(MOVE, (2, 5)) == [1, 2], "that was another move"
    assert origin_of(MOVE, None) == [1, 2]
    assert origin_of(PartitionReassignment((6, 5, 1), (7,), state="waiting"), (1,)) == [6, 5, 1]
    kept = PartitionReassignment((1, 7, 5, 6), (7,), (6,))
    assert origin_of(kept, (6, 5, 1)) == [6, 5, 1]


def test_sv_11_of_a_broker_that_tells_nothing_rack_and_throttle_are_unknown_not_none() -> None:
    counts = PartitionCounts(Counter({1: 1, 2: 1, 9: 1}), Counter(), 0, 0)
    configs: dict[str, Configs | KafkaError] = {"": [], "1": [], "2": PolicyViolation("no")}
    nothing = ProgressSnapshot({}, Progress(0, 0), 0, {})
    rates = CopyRates({}, {})
    seen = Seen("c", 7, {1: None, 2: "r2"}, {}, nothing, {}, {}, counts, rates, configs, None, None, None, None, None)
    found = [line.split() for line in lines(seen)]
    assert ["1", "none", "0", "B/s", "0", "B/s", "none", "none", "1", "0"] in found
    assert ["2", "r2", "0", "B/s", "0", "B/s", "unknown", "unknown", "1", "0"] in found
    assert ["9", "dead", "unknown", "0", "B/s", "0", "B/s", "unknown", "unknown", "1", "0"] in found
    assert "History: the controller keeps none." in lines(seen), "a stock controller does not tell it"


@pytest.mark.parametrize(
    ("encoding", "plot"), [("utf-8", f"▁{' ' * 34}█"), ("ascii", f"_{' ' * 34}#")], ids=["utf_8", "ascii"]
)
def test_sv_11_a_terminal_without_blocks_gets_plots_of_other_characters(
    monkeypatch: pytest.MonkeyPatch, encoding: str, plot: str
) -> None:
    points = [Point(0, 0, 0, None, None, None, None), Point(3_600_000, 5, 0, None, None, None, None)]
    history = [PastFigures(3_600_000, 10_000, 3_600_000, points)]
    nothing, counts = ProgressSnapshot({}, Progress(0, 0), 0, {}), PartitionCounts(Counter(), Counter(), 0, 0)
    seen = Seen("c", 7, {}, {}, nothing, {}, {}, counts, CopyRates({}, {}), {"": []}, None, None, None, history, None)
    monkeypatch.setattr(action_status, "_read", lambda *_: seen)
    stream = io.BytesIO()
    context: Any = SimpleNamespace(output=Output(io.TextIOWrapper(stream, encoding=encoding), as_json=False))
    action_status.run(context)
    assert f"In flight         {plot}  0 to 5" in stream.getvalue().decode(encoding).splitlines()


def test_sv_11_tens_of_thousands_of_the_longest_names_make_a_short_table_whose_rows_can_be_told_apart() -> None:
    names = [TopicPartition(f"{'n' * 244}{number:05d}", 7) for number in range(20_000)]
    move = PartitionReassignment((3, 4, 1, 2), (3, 4), (1, 2), reason=f"\x1b[31m\u202e{'W' * 990}")
    progress = Progress(136_600_000, 150_000_000, 997_400.0, 73.0)
    snapshot = ProgressSnapshot(dict.fromkeys(names, progress), progress, 0, {})
    counts = PartitionCounts(Counter({1: 1}), Counter(), 0, 0)
    base = {"seq": 1, "epoch": 1, "server": 7, "at": 5, "event": "move.started", "partition": 7}
    who = f"User:{'p' * 245} as {'c' * 100} from 10.0.0.1"
    events = [{**base, "topic": name.topic, "who": who, "reason": move.reason} for name in names[:30]]
    configs: dict[str, Configs | KafkaError] = {"": [], "1": []}
    listed = dict.fromkeys(names, move)
    rates = CopyRates({}, {})
    seen = Seen("c", 7, {1: "r" * 300}, listed, snapshot, {}, {}, counts, rates, configs, events, *[None] * 4)
    found = list(lines(seen))
    assert len(found) < 90
    assert max(map(len, found)) <= 400
    assert all(line.isprintable() for line in found)
    heading = next(number for number, line in enumerate(found) if line.startswith("PARTITION"))
    rows = found[heading + 1 : heading + 51]
    assert max(map(len, rows)) < 260
    for number, row in enumerate(rows):
        assert f"{number:05d}-7  none    [1, 2]" in row
        assert "997.4 kB/s, 1 min 13 s left" in row
    assert "User:ppp" in rows[0]
    assert " from 10.0.0.1  \\x1b[31m\\u202eWWW" in rows[0]
    assert found[heading + 51] == "… and 19950 more (--json shows all)"


def test_sv_11_the_newest_events_are_those_of_all_servers_that_answer() -> None:
    servers = Servers({1: [event(1, n, 10 * n) for n in range(5)], 2: [event(2, n, 10 * n + 5) for n in range(3)]})
    client = cast("ReassignmentClient", servers)
    said = list[str]()
    assert [one["at"] for one in newest_events(client, servers.connect, said.append, 3)] == [5, 15, 20, 25, 30, 40]
    assert not said
    servers.down.add(2)
    assert [one["at"] for one in newest_events(client, servers.connect, said.append, 9)] == [0, 10, 20, 30, 40]
    assert said == ["Events of server 2 at h:2 are missing: no answer"]
    assert servers.closed == len(servers.connected) == 2
    servers.keeps_no_log = True
    with pytest.raises(PolicyViolation):
        newest_events(client, servers.connect, said.append, 3)


def test_sv_11_leases_are_marked_and_brokers_that_shut_down_named_within_80_columns() -> None:
    def rates(leader: int, follower: int) -> Configs:
        return [Config(LEADER_RATE, str(leader)), Config(FOLLOWER_RATE, str(follower))]

    brokers = range(1, 41)
    counts = PartitionCounts(Counter(dict.fromkeys(brokers, 100_000)), Counter(), 0, 0)
    configs: dict[str, Configs | KafkaError] = {"": [], **{str(one): rates(99_900_000, 1_000) for one in brokers}}
    copied = CopyRates(dict.fromkeys(brokers, 99_900_000), dict.fromkeys(brokers, 99_900_000))
    nothing = ProgressSnapshot({}, Progress(0, 0), 0, {})
    states = dict.fromkeys(brokers, BrokerState(None, True)) | {1: BrokerState(99_900_000), 2: BrokerState(5)}
    state = ControllerState("1.2.3\x1b", 4, 1_000, states)
    seen = Seen(
        "c", 7, dict.fromkeys(brokers, "r"), {}, nothing, {}, {}, counts, copied, configs, None, None, None, None, state
    )
    found = list(lines(seen))
    assert "kafka-reassign-rpc 1.2.3\\x1b" in found
    assert ", epoch 4, since 1970-01-01 00:00:01 UTC" in found[0], "no event tells it"
    first, second = (line for line in found if line.startswith(("1 ", "2 ")))
    assert first.count("99.9 MB/s *") == first.count("*") == 1
    assert "*" not in second
    assert "Throttles: * by a lease of moves, else by a config." in found
    [named] = [line for line in found if line.startswith("Shutting down: ")]
    assert named.startswith("Shutting down: 3, 4, 5, ")
    assert named.endswith(", 39, 40")
    heading = next(number for number, line in enumerate(found) if line.startswith("BROKER"))
    assert max(map(len, found[heading : found.index(named) + 1])) == 80
    told = action_status.document(seen)
    assert told["version"] == "1.2.3\x1b"
    assert [(one["throttle_in_by"], one["throttle_out_by"], one["shutting_down"]) for one in told["brokers"][:3]] == [
        ("config", "lease", False),
        ("config", "config", False),
        ("config", "config", True),
    ]


def test_sv_11_where_a_controller_tells_no_state_of_brokers_there_is_no_word_about_it() -> None:
    set_rate: Configs = [Config(LEADER_RATE, "1")]
    counts = PartitionCounts(Counter({1: 1}), Counter(), 0, 0)
    nothing, configs = ProgressSnapshot({}, Progress(0, 0), 0, {}), {"": [], "1": set_rate}
    seen = Seen("c", 1, {1: None}, {}, nothing, {}, {}, counts, CopyRates({}, {}), configs, *[None] * 5)
    text = "\n".join(lines(seen))
    assert "1 B/s" in text
    assert not [word for word in ("lease", "Shutting", "kafka-reassign-rpc 1", "*") if word in text]
    told = action_status.document(seen)
    [broker] = told["brokers"]
    assert (told["version"], broker["throttle_out"]) == (None, 1)
    assert (broker["throttle_out_by"], broker["shutting_down"]) == (None, None)


@asynccontextmanager
async def world_with_moves(zk_connect: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    """Two moves in flight that are stalled, one that waits for them."""
    async with cluster(
        zk_connect,
        sampling=Sampling(interval_s=0.2, stall_s=0.4),
        metrics=True,
        status_page="full",
        event_log=tmp_path / "events",
    ) as world:
        await world.create_topic("held", {0: (2, 1), 1: (1, 2)}, held=True)
        await world.create_topic("other", {0: (1, 2)}, held=True)
        await world.configure("brokers", "<default>", {RATE: "0"})
        await world.settings({MAX_PER_CLUSTER: "2"})
        await world.alter({("held", 0): (3, 4), ("held", 1): (3, 2)}, reason="TICKET-7 \x1b[31m", throttle=5_000)
        await world.alter({("other", 0): (3, 4)}, reason="later")

        async def told() -> bool:
            totals = (await of_page(world, "status"))["totals"]
            return (totals["bytes_total"], totals["waiting"], totals["stalled"]) == (3 * SIZE, {"rpc": 1}, 2)

        await eventually(told)
        yield world


async def of_page(world: Cluster, path: str) -> Any:
    """What the status page has from there."""
    answer = await get(world.metrics_address, f"/api/v1/{path}")
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


async def test_sv_11_the_command_shows_what_the_status_page_shows(zk_connect: str, tmp_path: Path) -> None:
    async with world_with_moves(zk_connect, tmp_path) as world:
        command = Command(world.bootstrap)

        async def points(span: str) -> list[dict[str, Any]]:
            return [{**one, "at": 0} for one in (await of_page(world, f"history?span={span}"))["points"]]

        async def are_noted() -> bool:
            return any(one["in_flight"] == 2 for one in await points("hour"))

        await eventually(are_noted)
        found = await command.json("--status")
        on_page = [await points("hour"), await points("day")]
        told_here = [[{**one, "at": 0} for one in past["points"]] for past in found["history"]]
        assert all(here and here == page[: len(here)] for here, page in zip(told_here, on_page, strict=True))
        assert [past["span_ms"] for past in found["history"]] == [3_600_000, 86_400_000]
        assert (told_here[0][-1]["in_flight"], told_here[0][-1]["waiting"]) == (2, 1)
        assert (found["healing"]["intervalMs"], found["healing"]["failedBrokers"]) == (None, [])
        assert found["controller"]["id"] == 1000
        assert found["controller"]["epoch"] > 0
        assert found["controller"]["since"] > 0
        assert found["caps"] == {MAX_PER_BROKER: None, MAX_PER_CLUSTER: "2", MAX_BYTES_IN_FLIGHT: None}
        first, second, waiting = found["moves"]
        assert (first["state"], first["adding"], first["total_bytes"]) == ("moving", [3, 4], 2 * SIZE)
        assert (first["leader"], second["leader"], waiting["since"]) == (2, 1, None)
        assert first["since"] > 0
        assert (second["total_bytes"], waiting["state"], waiting["reason"]) == (SIZE, "waiting", "later")
        assert (waiting["total_bytes"], waiting["done_bytes"]) == (2 * SIZE, 0)
        assert all(one["who"].startswith("User:ANONYMOUS as test") for one in found["moves"])
        brokers = {one["broker"]: one for one in found["brokers"]}
        assert sorted(brokers) == [1, 2, 3, 4, 5]
        assert (brokers[3]["throttle_in"], brokers[3]["throttle_out"]) == (0, 5_000)
        assert sum(one["leaders"] for one in brokers.values()) == 3
        times = [one["at"] for one in found["events"]]
        assert times
        assert times == sorted(times)
        assert (found["offline"], found["disabled"]) == (0, None)

        output = await command("--status")
        text = "\n".join(output.lines)
        assert output.code == 0
        for part in (
            "controller 1000, epoch ",
            "New moves may start.",
            f"{MAX_PER_CLUSTER}=2",
            "2 moves in flight, 2 stalled, 1 waiting",
            "TICKET-7 \\x1b[31m, by rpc",
            "The last hour, 20",
            "In flight         ",
            "The last day, 20",
            f"waits, {text_format.size(2 * SIZE)}",
            "THROTTLE IN",
            "5.0 kB/s *",
            "Healing is off",
        ):
            assert part in text, part
        assert "\x1b" not in text


async def test_sv_11_each_item_of_the_status_page_is_the_same_by_the_command(zk_connect: str, tmp_path: Path) -> None:
    async with world_with_moves(zk_connect, tmp_path) as world:
        await world.configure("brokers", "5", {LEADER_RATE: "7000"})
        epoch = world.fleets[5].brokers[5].broker_epoch
        asked = ControlledShutdownRequest(version=3, broker_id=5, broker_epoch=epoch)
        assert (await world.ask(asked, 3)).error_code == 0, "the broker itself does not know, and stays"

        async def are_set() -> bool:
            by = {
                (one["id"], (one["throttle_out"] or {}).get("by"))
                for one in (await of_page(world, "brokers"))["brokers"]
            }
            return by == {(1, "lease"), (2, "lease"), (3, "lease"), (4, "lease"), (5, "config")}

        await eventually(are_set)
        found = await Command(world.bootstrap).json("--status")
        status, moves, brokers = [await of_page(world, path) for path in ("status", "moves", "brokers")]
        events = await of_page(world, f"events?limit={action_status.EVENTS_SHOWN}")

        totals, healing, caps = status["totals"], status["healing"], status["caps"]
        assert found["version"] == status["version"]
        assert found["cluster"] == status["cluster"]
        assert found["controller"] == {key: status["controller"][key] for key in ("id", "epoch", "since")}
        assert (status["enabled"], found["disabled"]) == (True, status["disabled_by"])
        assert {name: value and int(value) for name, value in found["caps"].items()} == {
            MAX_PER_BROKER: caps["moves_per_broker"],
            MAX_PER_CLUSTER: caps["moves_per_cluster"],
            MAX_BYTES_IN_FLIGHT: caps["bytes_in_flight"],
        }
        assert sum(one["alive"] for one in found["brokers"]) == status["brokers_live"]
        states = Counter(one["state"] for one in found["moves"])
        routes = Counter(one["route"] for one in found["moves"] if one["state"] == "waiting")
        assert (states["moving"], routes) == (totals["in_flight"], totals["waiting"])
        assert found["waiting"] == sum(totals["waiting"].values())
        for item in ("stalled", "under_replicated", "offline"):
            assert found[item] == totals[item], item
        assert found["total"]["total_bytes"] == totals["bytes_total"]
        assert found["total"]["total_bytes"] - found["total"]["done_bytes"] == totals["bytes_left"]
        assert found["healing"]["intervalMs"] == healing["interval_ms"]
        assert found["healing"]["paused"] == healing["paused"]
        assert found["healing"]["heldBack"] == healing["held_back"]
        assert found["healing"]["waitingMoves"] == healing["waiting"]
        assert found["healing"]["activeMoves"] == healing["in_flight"]
        assert found["healing"]["failedBrokers"] == healing["failed"] == []
        assert found["healing"]["problems"] == healing["problems"]
        assert [item_of_move(one) for one in found["moves"]] == sorted(map(move_on_page, moves["moves"]))
        assert [broker_on_page(one) for one in brokers["brokers"]] == found["brokers"]
        assert [one["seq"] for one in found["events"]] == [one["seq"] for one in reversed(events["events"])]
        assert [one["shutting_down"] for one in found["brokers"]] == [False, False, False, False, True]

        text = (await Command(world.bootstrap)("--status")).out
        assert f"kafka-reassign-rpc {status['version']}\n" in text
        assert text.count("5.0 kB/s *") == 4
        assert "7.0 kB/s  " in text
        assert "Throttles: * by a lease of moves, else by a config.\nShutting down: 5\n" in text


def test_sv_11_the_size_of_a_move_that_waits_is_that_of_its_leader_times_what_it_adds() -> None:
    names = [TopicPartition("t", number) for number in range(4)]
    told = [
        LogDirs(1, {names[0]: ReplicaLogDir(size=700), names[1]: ReplicaLogDir(size=1)}),
        LogDirs(2, {names[1]: ReplicaLogDir(size=50)}),
        LogDirs(3, {names[2]: ReplicaLogDir(size=9)}, "it does not answer"),
    ]
    leaders = dict(zip(names, (1, 2, 3, 4), strict=True))
    assert leader_sizes(leaders, told) == {names[0]: 700, names[1]: 50}


def item_of_move(one: dict[str, Any]) -> tuple[Any, ...]:
    """Without the produce rate in the reason of a stall: the brokers look produced to since they got their replicas."""
    keys = "topic", "partition", "state", "adding", "removing", "leader", "reason", "route", "since", "who"
    stalled = one.get("stalled") and one["stalled"].partition(" while ")[0]
    return (*(one[key] for key in keys), one.get("done_bytes"), one.get("total_bytes"), stalled)


def move_on_page(one: dict[str, Any]) -> tuple[Any, ...]:
    """The same items."""
    return item_of_move({**one, "done_bytes": one["bytes_copied"], "total_bytes": one["bytes_total"]})


def broker_on_page(one: dict[str, Any]) -> dict[str, Any]:
    """As the command has it."""

    def throttle(side: str) -> dict[str, Any]:
        found = one[f"throttle_{side}"] or {"rate": None, "by": None}
        return {f"throttle_{side}": found["rate"], f"throttle_{side}_by": found["by"]}

    same = {key: one[key] for key in ("alive", "shutting_down", "rack", "replicas", "leaders")}
    rates = {f"bytes_{side}_per_second": one[f"rate_{side}"] for side in ("in", "out")}
    return {"broker": one["id"], **same, **rates, **throttle("in"), **throttle("out")}
