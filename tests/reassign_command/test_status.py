"""`kafka-reassign status`: the whole cluster in a terminal."""

import io
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from kafka_reassign_rpc.client import (
    PastFigures,
    Point,
    ReassignmentClient,
    text_format,
)
from kafka_reassign_rpc.controller.duties.progress_sampling import Sampling
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.core.settings.reassignment_settings import MAX_BYTES_IN_FLIGHT, MAX_PER_BROKER, MAX_PER_CLUSTER
from kafka_reassign_rpc.core.status.broker_documents import BrokerStatus, Throttle
from kafka_reassign_rpc.core.status.documents import Move, StatusProblem
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import UnhealthyPartitions
from kafka_reassign_rpc.core.throttling.replication_throttles import LEADER_RATE
from kafka_reassign_rpc.protocol.messages import ControlledShutdownRequest
from kafka_reassign_rpc.reassign_command import action_status
from kafka_reassign_rpc.reassign_command.action_context import Output
from kafka_reassign_rpc.reassign_command.action_events import newest_events
from kafka_reassign_rpc.reassign_command.action_status import document
from kafka_reassign_rpc.reassign_command.status_text import EVENTS_SHOWN, MOVES_SHOWN, Seen, comes_and_goes, lines
from kafka_reassign_rpc.support.typed_commands import Connection, command
from tests.controller.cluster import RATE, SIZE, Cluster, cluster
from tests.http_client import get
from tests.reassign_command.run_command import Command
from tests.reassign_command.test_events import Servers, event
from tests.status_page.views import cluster_of, server_of, term_of
from tests.waiting import eventually


def shown(*, at: int = 5, brokers: Sequence[BrokerStatus] = (), **changes: Any) -> Seen:
    """What was read of a controller 7 without moves."""
    term = term_of(cluster_of({}))._replace(unhealthy=UnhealthyPartitions())
    status = status_of(server_of(term, controller=7), at=at, version="1.2.3\x1b", full=True)
    return Seen(status, (), 0, brokers)._replace(**changes)


def unwrapped(found: Sequence[str]) -> str:
    """All in one line, with one blank where there are several."""
    return " ".join(" ".join(found).split())


def broker(number: int, **changes: Any) -> BrokerStatus:
    plain = BrokerStatus(
        number, True, False, None, 0, 0, None, None, replicas=1, leaders=0, under_replicated=0, out_of_sync=0, disk=None
    )
    return msgspec.structs.replace(plain, **changes)


def test_sv_11_a_server_that_has_just_lost_the_controllership_claims_nothing() -> None:
    standby = status_of(server_of(None, controller=3), at=5, version="1", full=True)
    seen = shown()._replace(status=standby)
    found = unwrapped(list(lines(seen)))
    assert "Whether new moves may start is not known here." in found
    assert f"caps: {MAX_PER_BROKER}=unknown, {MAX_PER_CLUSTER}=unknown, {MAX_BYTES_IN_FLIGHT}=unknown" in found
    assert "The server that answers does not control the moves, and does not know them: ask broker 3." in found
    told = document(seen)
    assert (told["waiting"], told["finished"], told["stalled"]) == (None, None, None)


@pytest.mark.parametrize(
    ("live", "told"),
    [
        (0, "Under-replicated and offline partitions are counted once a broker is there."),
        (3, "How many partitions are under-replicated or offline is not known."),
    ],
)
def test_sv_11_partitions_that_were_not_counted_yet_are_counted_once_there_is_a_broker(live: int, told: str) -> None:
    term = term_of(cluster_of({}))._replace(unhealthy=None)
    status = status_of(server_of(term, controller=7), at=5, version="1", full=True)
    assert told in list(lines(shown(status=msgspec.structs.replace(status, brokers_live=live))))


def test_sv_11_of_a_broker_that_tells_nothing_rack_and_throttle_are_unknown_not_none() -> None:
    dead = broker(9, alive=False, rate_in=None)
    seen = shown(brokers=[broker(1), broker(2, rack="r2"), dead], is_stock=True, silent={2})
    found = [line.split() for line in lines(seen)]
    assert ["1", "none", "0", "B/s", "0", "B/s", "none", "none", "1", "0"] in found
    assert ["2", "r2", "0", "B/s", "0", "B/s", "unknown", "unknown", "1", "0"] in found
    assert ["9", "dead", "unknown", "unknown", "0", "B/s", "unknown", "unknown", "1", "0"] in found


@pytest.mark.parametrize(
    ("encoding", "plot"), [("utf-8", f"▁{' ' * 34}█"), ("ascii", f"_{' ' * 34}#")], ids=["utf_8", "ascii"]
)
def test_sv_11_a_terminal_without_blocks_gets_plots_of_other_characters(
    monkeypatch: pytest.MonkeyPatch, encoding: str, plot: str
) -> None:
    points = [Point(0, 0, 0, None, None, None, None), Point(3_600_000, 5, 0, None, None, None, None)]
    history = [PastFigures(3_600_000, 10_000, 3_600_000, points)]
    seen = shown(history=history)
    monkeypatch.setattr(action_status, "read", lambda *_, **__: seen)
    stream = io.BytesIO()
    output = Output(io.TextIOWrapper(stream, encoding=encoding), as_json=False)
    context: Any = SimpleNamespace(output=output, client=None, client_of=None)
    action_status.run(context)
    assert f"In flight         {plot}  0 to 5" in stream.getvalue().decode(encoding).splitlines()


def test_sv_11_tens_of_thousands_of_the_longest_names_make_a_short_table_whose_rows_can_be_distinguished() -> None:
    names = [f"{'n' * 244}{number:05d}" for number in range(50)]
    who = f"User:{'p' * 245} as {'c' * 100} from 10.0.0.1"
    move = Move(
        topic="", partition=7, state="moving", id=1, original=(1, 2), target=(3, 4), adding=(3, 4), removing=(1, 2),
        leader=None, bytes_total=150_000_000, bytes_copied=136_600_000, copied={}, rate=997_400, remaining_ms=73_000,
        share=0.9, stalled=None, waits_for=None, place=None, route="rpc", reason=f"\x1b[31m\u202e{'W' * 990}", who=who,
        since=None,
    )  # fmt: skip
    moves = [msgspec.structs.replace(move, topic=name) for name in names]
    event = {"seq": 1, "epoch": 1, "server": 7, "at": 5, "event": "move.started", "partition": 7, "who": who}
    events = [{**event, "topic": name, "reason": move.reason} for name in names[:30]]
    seen = shown(moves=moves, of=20_000, brokers=[broker(1, rack="r" * 300)], events=events)
    found = list(lines(seen))
    assert len(found) < 400
    assert max(map(len, found)) <= 80
    assert all(line.isprintable() for line in found)
    text = unwrapped(found)
    for number in range(MOVES_SHOWN):
        assert f"{number:05d}-7 [1, 2] to [3, 4]:" in text
    assert text.count("3 and 4 come, 1 and 2 go") == MOVES_SHOWN
    assert text.count("997.4 kB/s, 1 min 13 s left") == MOVES_SHOWN
    assert "asked by User:ppp" in text
    assert " from 10.0.0.1, \\x1b[31m\\u202eWWW" in text
    assert "… and 19980 more (--json shows all)" in found


def test_sv_11_a_row_says_which_replica_comes_and_which_goes() -> None:
    def told(**found: tuple[int, ...]) -> str:
        return comes_and_goes(cast("Move", SimpleNamespace(**{"adding": (), "removing": (), **found})))

    assert told(adding=(3,), removing=(1, 2)) == "3 comes, 1 and 2 go"
    assert told(adding=(5, 6, 1)) == "5, 6 and 1 come"
    assert told(removing=(2,)) == "2 goes"
    assert told() == "only the order changes"


def test_dh_8_a_command_to_type_has_a_line_of_its_own_with_the_connection_of_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    approve = command("kafka-reassign heal", "--approve")
    text = f"{'3 moves of repairs of brokers 3, 4 and 5, ' * 3}wait for approval: {approve}"
    before = shown()
    status = msgspec.structs.replace(before.status, problems=[StatusProblem("repairs_unapproved", "wrong", text, None)])
    monkeypatch.setattr(action_status, "read", lambda *_, **__: before._replace(status=status))
    stream = io.StringIO()
    here = Connection("b1:9092,b2:9092", "my admin.properties")
    context: Any = SimpleNamespace(output=Output(stream, as_json=False, connection=here), client=None, client_of=None)
    action_status.run(context)
    connection = "--bootstrap-server b1:9092,b2:9092 --command-config 'my admin.properties'"
    assert f"    kafka-reassign heal {connection} --approve" in stream.getvalue().splitlines()


def test_sv_11_a_long_reason_goes_on_in_the_next_line_and_no_ticket_is_cut() -> None:
    move = Move(
        topic="t", partition=7, state="moving", id=1, original=(1, 2), target=(3, 2), adding=(3,), removing=(1,),
        leader=1, bytes_total=None, bytes_copied=None, copied={}, rate=None, remaining_ms=None, share=None,
        stalled=None, waits_for=None, place=None, route="rpc", who="User:o", since=1,
        reason=" ".join(f"TICKET-{n}" for n in range(1000, 1099)),
    )  # fmt: skip
    found = list(lines(shown(moves=[move], of=1, brokers=[broker(1, rack="a rack whose name is long " * 3)])))
    assert max(map(len, found)) <= 80
    words = [word for line in found for word in line.split() if word.startswith("TICKET")]
    assert len(words) > 20
    assert all(re.fullmatch("TICKET-[0-9]{4}", word) for word in words)
    begin = next(place for place, line in enumerate(found) if line.startswith("1  "))
    rack = "".join(line[8:].split("  ")[0] for line in found[begin : found.index("", begin)]).replace(" ", "")
    assert rack == "arackwhosenameislongarack…senameislong", "the table goes on in further lines"


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
    config, fast = Throttle(1_000, "config"), Throttle(99_900_000, "config")
    brokers = [
        broker(
            one, rack="r", rate_in=99_900_000, rate_out=99_900_000, replicas=100_000, shutting_down=one > 2,
            cordoned=one > 2,
            throttle_in=config, throttle_out=Throttle(99_900_000, "lease") if one == 1 else fast,
        )
        for one in range(1, 41)
    ]  # fmt: skip
    seen = shown(brokers=brokers)
    found = list(lines(seen))
    assert "kafka-reassign-rpc 1.2.3\\x1b" in found
    assert ", epoch 7, since 1970-01-01 00:00:01 UTC" in unwrapped(found[:2]), "no event tells it"
    first, second = (line for line in found if line.startswith(("1 ", "2 ")))
    assert first.count("99.9 MB/s *") == first.count("*") == 1
    assert "*" not in second
    assert "Throttles: * by a lease of moves, else by a config." in found
    [named] = [line for line in found if line.startswith("Shutting down: ")]
    assert named.startswith("Shutting down: 3, 4, 5, ")
    assert named.endswith(", 39, 40")
    heading = next(number for number, line in enumerate(found) if line.startswith("BROKER"))
    assert max(map(len, found[heading : found.index(named) + 1])) == 80
    [closed] = [line for line in found if line.startswith("Cordoned: 3, 4, ")]
    assert (len(closed), closed[-8:]) == (80, ", 39, 40")
    told = action_status.document(seen)
    assert told["version"] == "1.2.3\x1b"
    assert [(one["throttle_in_by"], one["throttle_out_by"], one["shutting_down"]) for one in told["brokers"][:3]] == [
        ("config", "lease", False),
        ("config", "config", False),
        ("config", "config", True),
    ]


def test_sv_11_where_a_controller_tells_no_state_of_brokers_there_is_no_word_about_it() -> None:
    seen = shown(brokers=[broker(1, throttle_out=Throttle(1, "config"), shutting_down=None)], is_stock=True)
    seen = seen._replace(status=msgspec.structs.replace(seen.status, version=""))
    text = "\n".join(lines(seen))
    assert "1 B/s" in text
    assert not [word for word in ("lease", "Shutting", "kafka-reassign-rpc 1", "*") if word in text]
    told = action_status.document(seen)
    [one] = told["brokers"]
    assert (told["version"], one["throttle_out"]) == (None, 1)
    assert (one["throttle_out_by"], one["shutting_down"], one["cordoned"]) == (None, None, None)


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

        async def are_measured() -> bool:
            return all(one["total_bytes"] for one in (await command.json("status"))["moves"])

        await eventually(are_noted)
        await eventually(are_measured)
        found = await command.json("status")
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

        output = await command("status")
        text = "\n".join(output.lines)
        assert output.code == 0
        for part in (
            "controller 1000 at 127.0.0.1:",
            "New moves may start.",
            f"{MAX_PER_CLUSTER}=2",
            "2 moves in flight, 2 stalled, 1 waiting",
            "TICKET-7 \\x1b[31m",
            "held-0  [2, 1] to [3, 4]: 3 and 4 come, 2 and 1 go, leader 2\n",
            "held-1  [1, 2] to [3, 2]: 3 comes, 1 goes, leader 1\n",
            "The last hour, 20",
            "In flight         ",
            "The last day, 20",
            f"waits, {text_format.size(2 * SIZE)}, for room in the cluster: at most 2 moves in flight, place 1",
            "!! 2 moves are stalled: throttled to 0 B/s",
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
            is_counted = (await of_page(world, "status"))["totals"]["under_replicated"] is not None
            return is_counted and by == {(1, "lease"), (2, "lease"), (3, "lease"), (4, "lease"), (5, "config")}

        await eventually(are_set)
        found = await Command(world.bootstrap).json("status")
        status, moves, brokers = [await of_page(world, path) for path in ("status", "moves", "brokers")]
        events = await of_page(world, f"events?limit={EVENTS_SHOWN}")

        totals, healing, caps = status["totals"], status["healing"], status["caps"]
        assert found["version"] == status["version"]
        assert found["cluster"] == status["cluster"]
        of_document = {key: status["controller"][key] for key in ("id", "epoch", "since")}
        assert found["controller"] == {**of_document, "at": [world.bootstrap]}
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
        work = status["work"]
        assert found["total"]["total_bytes"] == work["bytes_total"] == 5 * SIZE, "what waits is part of it"
        assert found["total"]["done_bytes"] == work["bytes_copied"]
        assert found["total"]["no_estimate"] == work["no_estimate"] == "2 moves are stalled"
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

        text = (await Command(world.bootstrap)("status")).out
        assert f"kafka-reassign-rpc {status['version']}\n" in text
        assert max(map(len, text.splitlines())) <= 80
        assert text.count("5.0 kB/s *") == 4
        assert "7.0 kB/s  " in text
        assert "Throttles: * by a lease of moves, else by a config.\nShutting down: 5\n" in text


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

    same = {key: one[key] for key in ("alive", "shutting_down", "cordoned", "rack", "replicas", "leaders")}
    rates = {f"bytes_{side}_per_second": one[f"rate_{side}"] for side in ("in", "out")}
    return {"broker": one["id"], **same, **rates, **throttle("in"), **throttle("out")}
