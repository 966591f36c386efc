"""The figures of a history, each from a few events with numbers that anybody can add up.

Each story has a topic, a route and brokers of its own, and all of them are one history. Time is in seconds here. Each
partition has 10 bytes in the snapshot. A move is from broker 1 to 2 unless it says otherwise: it copies 10 bytes.
"""

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kafka_reassign_rpc.pipeline.reports import result_pages, result_tables
from kafka_reassign_rpc.pipeline.topic_pieces import CallHere
from tests.pipeline.histories import tables_of
from tests.pipeline.test_audit import event, write_event_file, write_snapshot

pytestmark = pytest.mark.gate

EVENTS: list[dict[str, Any]] = []
"""The events of all stories."""
Row = dict[str, Any]


class Story:
    """A topic, and a route of the same name."""

    def __init__(self, name: str, *, sized: bool = True) -> None:
        self.name = name
        STORIES.append((name, sized))

    def move(self, partition: int, *lives: tuple[str, float], **more: Any) -> None:
        """The events of one move. `more` is in all of them."""
        fields = {"topic": self.name, "partition": partition, "route": self.name, "original": [1], "target": [2]}
        for name, at in lives:
            EVENTS.append(event(len(EVENTS), f"move.{name}", int(1000 * at), **fields | more))


STORIES: list[tuple[str, bool]] = []
"""Their names, and whether the snapshot has their sizes."""


def throttle(broker: int, rate: int, start: float, end: float) -> None:
    EVENTS.append(event(len(EVENTS), "throttle.set", int(1000 * start), broker=broker, bytes=rate))
    EVENTS.append(event(len(EVENTS), "throttle.restored", int(1000 * end), broker=broker))


COPIES = Story("copies")
COPIES.move(0, ("started", 1), ("completed", 3))
COPIES.move(1, ("started", 1), ("completed", 3), original=[1, 5], target=[2, 3, 5])  # two new replicas
COPIES.move(2, ("started", 1), ("completed", 3), original=[1, 2], target=[2, 1])  # another order
COPIES.move(3, ("started", 1), ("completed", 3), copied=14)  # it grew while it moved, and the controller saw it

UNFINISHED = Story("unfinished")
UNFINISHED.move(0, ("started", 1), ("cancelled", 2), copied=4)
UNFINISHED.move(1, ("started", 1), ("cancelled", 2))  # the controller had not sampled it
UNFINISHED.move(2, ("started", 1))
UNFINISHED.move(3, ("waiting", 1))
UNFINISHED.move(4, ("waiting", 1), ("withdrawn", 2))

STALLED = Story("stalled")
STALLED.move(0, ("waiting", 1), ("started", 4), ("stalled", 6), ("resumed", 7), ("stalled", 8), ("completed", 10))

DURATIONS = Story("durations")
for number, duration in enumerate((1, 2, 3, 4, 20)):
    DURATIONS.move(number, ("started", 0), ("completed", duration))

throttle(20, 10, 0, 10)  # 100 bytes could arrive
USED = Story("used")
USED.move(0, ("started", 0), ("completed", 5), target=[20])  # 10 bytes
USED.move(1, ("started", 8), ("completed", 10), target=[20])  # 10 bytes, to the last moment
USED.move(2, ("started", 2), ("cancelled", 4), target=[20], copied=3)
USED.move(3, ("started", 11), ("completed", 12), target=[20])  # after it
USED.move(4, ("started", 0), ("completed", 5), target=[9])  # to another broker

for one_broker in (30, 31, 32, 33, 34, 35, 36):
    throttle(one_broker, 10, 0, 10)
UNKNOWN = Story("unknown", sized=False)
UNKNOWN.move(0, ("started", 1), ("cancelled", 2), target=[30])
UNKNOWN.move(1, ("started", 1), target=[31])
UNKNOWN.move(2, ("started", 1), ("completed", 2), target=[32])
UNKNOWN.move(3, ("started", 1), ("completed", 2), target=[33], copied=50)

OUTLIVING = Story("outliving")  # 10 bytes each: how many of them while the rate was in force, nobody knows
OUTLIVING.move(0, ("started", 8), ("completed", 12), target=[34])
EVENTS.append(event(len(EVENTS), "throttle.set", 12_000, broker=35, bytes=1))
EVENTS.append(event(len(EVENTS), "throttle.restored", 20_000, broker=35))
OUTLIVING.move(1, ("started", 9), ("completed", 13), target=[35])  # it has had two leases
OUTLIVING.move(2, ("started", 8), ("completed", 12), target=[36], copied=0)

throttle(37, 0, 0, 10)  # nothing may arrive, and a byte did before the broker knew
FROZEN = Story("frozen")
FROZEN.move(0, ("started", 1), ("cancelled", 2), target=[37], copied=1)

CROWD = Story("crowd")
CROWD.move(0, ("started", 0), ("completed", 1000))
for number in range(1, 14):
    CROWD.move(number, ("started", 505 + number / 100), ("completed", 507 + number / 100))
CROWD.move(20, ("started", 700), ("completed", 701))
CROWD.move(20, ("started", 701), ("completed", 702))  # one ends where the other starts: never two

WORDS = Story("words")
REASON = "OPS-17: " + "the disks of rack b are full, and new ones come in May; " * 3 + "ask Ann"
PRINCIPAL = "User:CN=" + "a" * 90
WHO = f"{PRINCIPAL} as kafka-reassign-rpc from 10.0.0.7"
WORDS.move(0, ("started", 0), ("stalled", 1), ("completed", 2), reason=REASON, who=WHO, principal=PRINCIPAL, target=[3])


class History(NamedTuple):
    """All tables, and the rows of some."""

    frames: dict[str, pa.Table]
    rows: dict[str, list[Row]]

    def of(self, story: Story, table: str) -> list[Row]:
        """The rows of a story, in the order of its partitions where the table has any."""
        key = "topic" if table != "outcomes" else "route"
        found = [row for row in self.rows[table] if row[key] == story.name]
        return sorted(found, key=lambda row: row.get("partition", 0))

    def throttle(self, broker: int) -> Row:
        [found] = [row for row in self.rows["throttles"] if row["broker"] == broker]
        return found


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    path = tmp_path_factory.mktemp("history")
    sized = [(name, index, [1], [1]) for name, is_sized in STORIES if is_sized for index in range(30)]
    snapshot, events = write_snapshot(path / "snapshot", 1, sized), write_event_file(path / "events", EVENTS)
    frames = tables_of(CallHere(), events, snapshot)
    return History(frames, {name: frames[name].to_pylist() for name in ("moves", "outcomes", "throttles")})


def test_dp_5_a_completed_move_has_copied_its_partition_once_for_each_replica_that_it_added(history: History) -> None:
    moves = history.of(COPIES, "moves")
    assert [(row["bytes"], row["bytes_per_second"]) for row in moves] == [(10, 5), (20, 10), (0, 0), (14, 7)]


def test_dp_5_a_move_that_did_not_complete_has_copied_what_was_seen_and_never_its_whole_size(history: History) -> None:
    assert [(row["outcome"], row["bytes"]) for row in history.of(UNFINISHED, "moves")] == [
        ("cancelled", 4),
        ("cancelled", None),
        ("moving", None),
        ("waiting", None),
        ("withdrawn", None),
    ]
    [cancelled] = [row for row in history.of(UNFINISHED, "outcomes") if row["outcome"] == "cancelled"]
    assert (cancelled["moves"], cancelled["bytes"]) == (2, 4)


def test_dp_5_waiting_moving_and_stalling_are_counted_apart(history: History) -> None:
    [row] = history.of(STALLED, "moves")
    assert (row["waited_seconds"], row["seconds"]) == (3, 6)
    assert (row["stalls"], row["stalled_seconds"]) == (2, 1 + 2)


def test_dp_5_outcomes_have_the_middle_and_the_longest_of_the_durations(history: History) -> None:
    [row] = history.of(DURATIONS, "outcomes")
    assert (row["moves"], row["bytes"]) == (5, 50)
    assert (row["median_seconds"], row["longest_seconds"]) == (3, 20)
    assert row["p95_seconds"] == pytest.approx(4 + 0.8 * 16)  # 95 % of the way from the first to the fifth: 3.8 steps
    assert row["median_bytes_per_second"] == pytest.approx(10 / 3)


def test_dp_5_a_throttle_is_used_by_what_arrived_while_it_was_in_force(history: History) -> None:
    row = history.throttle(20)
    assert (row["bytes"], row["bytes_per_second"]) == (10 + 10 + 3, 2.3)
    assert row["efficiency"] == pytest.approx(0.23)


@pytest.mark.parametrize("broker", [30, 31, 32, 34], ids=["cancelled", "moving", "without a size", "it went on"])
def test_dp_5_how_well_a_throttle_was_used_is_not_known_where_one_move_is_not(history: History, broker: int) -> None:
    row = history.throttle(broker)
    assert (row["bytes"], row["bytes_per_second"], row["efficiency"]) == (None, None, None)
    assert history.throttle(33)["efficiency"] == 0.5


def test_fg_2_a_move_that_outlives_its_lease_gives_its_bytes_to_no_rate(history: History) -> None:
    """They were spread evenly over both: then more than the whole rate of the second one was used."""
    rows = [row for row in history.rows["throttles"] if row["broker"] == 35]
    assert [(row["rate"], row["bytes"], row["efficiency"]) for row in rows] == [(10, None, None), (1, None, None)]
    assert history.throttle(36)["bytes"] == 0, "nothing is nothing at any time"


def test_dp_5_a_rate_of_0_has_no_share_that_was_used(history: History) -> None:
    row = history.throttle(37)
    assert (row["rate"], row["bytes"], row["bytes_per_second"], row["efficiency"]) == (0, 1, 0.1, None)


def test_dp_5_the_plot_shows_the_most_moves_that_were_in_flight_at_once(history: History) -> None:
    """Fourteen at once for 2 s, in 1000 s: the plot's stretches are longer than that."""
    moves = history.frames["moves"].filter(pc.field("topic") == CROWD.name)
    times, counts = result_pages.in_flight(moves, 0, 1_000_000)
    assert len(times) == len(counts) == 81
    assert times == sorted(times)
    assert [count for count in counts if count > 2] == [14]
    assert times[counts.index(14)] <= 505_010
    assert times[counts.index(14) + 1] > 507_130
    assert counts.count(2) == 2, "two moves one after the other, beside the long one, in two stretches"
    assert (counts[0], counts[-1]) == (1, 0)


def test_dp_5_the_page_and_json_have_the_whole_reason_json_has_the_principal_and_text_has_what_fits(
    history: History,
) -> None:
    shown = {name: result_tables.excerpt(history.frames[name]) for name in ("outcomes", "throttles", "refusals")}
    for name in ("slowest", "stalled"):
        found = result_tables.excerpt(history.frames[name].filter(pc.field("topic") == WORDS.name))
        shown[name] = found
        [row] = result_tables.json_document(found)["rows"]
        assert (row["reason"], row["principal"], row["who"]) == (REASON, PRINCIPAL, WHO)
        text = "\n".join(result_tables.text_lines(name, found, empty=""))
        assert "OPS-17: the disks of rack … May; ask Ann" in text
        assert REASON not in text
    page = result_pages.history_page(history.frames["moves"], shown)
    assert page.count(REASON) == 2
    assert page.count(WHO) == 2
    assert f">{PRINCIPAL}<" not in page, "a screen has no room for it: `who` begins with it"
    assert "received of rate" in page
