"""The page of a plan: one file that needs no network; no name from a cluster becomes markup."""

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans import plan_directory
from kafka_reassign_rpc.pipeline.plans.batch_reader import read_batch, read_plan
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    SUMMARY,
    BatchFigures,
    BottleneckFigures,
    BrokerFigures,
    BrokerTraffic,
    GainFigures,
    ImpactFigures,
    LeftOutFigures,
    LoadFigures,
    PlanRequest,
    PlanSummary,
    RackFigures,
    TimelineFigures,
    read_summary,
)
from kafka_reassign_rpc.pipeline.plans.plan_writer import PlanWriter
from kafka_reassign_rpc.pipeline.reports import plan_report, svg_plots
from kafka_reassign_rpc.pipeline.reports.html_page import HtmlPage
from kafka_reassign_rpc.support.bounded_text import abridged, printable
from kafka_reassign_rpc.support.human_units import duration
from tests.tables import for_each

pytestmark = pytest.mark.gate


def write_plan(
    path: Path,
    *,
    brokers: int = 12,
    batches: int = 9,
    topics: Sequence[str] = ("t",),
    racks: Sequence[str] = ("a", "b", "c"),
    more: str = "",
) -> Path:
    """A plan to expand: the last quarter of the brokers is empty before.

    topics  each batch moves two partitions of each
    more    what each reason and each note ends with
    """
    new = brokers - brokers // 4
    before = [
        LoadFigures(4e9 + 3e8 * (b % 5), 120 + b % 7, 40 + b % 3) if b < new else LoadFigures() for b in range(brokers)
    ]
    total = LoadFigures(*(sum(getattr(one, name) for one in before) for name in ("bytes", "replicas", "leaders")))
    share = LoadFigures(total.bytes / brokers, total.replicas / brokers, total.leaders / brokers)
    after = [
        LoadFigures(share.bytes * (1 + 0.01 * (b % 3)), share.replicas + b % 2, share.leaders) for b in range(brokers)
    ]
    figures = [
        BrokerFigures(b + 1, racks[b % 3], True, None, before[b], after[b], share) for b in range(brokers)
    ]  # fmt: skip
    by_rack = [RackFigures(rack, brokers // 3, before[turn], after[turn]) for turn, rack in enumerate(racks)]
    summary = PlanSummary(
        kind="expand",
        cluster_id="4L6g3nShT-eMCtK--X86sw",
        at=1_763_700_000_000,
        requested=PlanRequest([10, 11, 12], [], None, 0, 0.1, 0.1, -1, {}, 10, -1, -1, 1000),
        partitions=500,
        moves=2 * batches * len(topics),
        bytes=12_000_000_000,
        lower_bound=11_000_000_000,
        unknown_sizes=0,
        imbalance_before={"bytes": 1.0, "replicas": 1.0},
        imbalance_after={"bytes": 0.02, "replicas": 0.01},
        brokers=figures,
        racks=by_rack,
        batches=[BatchFigures(n + 1, 0, 2, 10**9, 60 * n, 40.0 + 5 * (n % 4), 9, 5) for n in range(batches)],
        left_out=[LeftOutFigures(f"moves already{more}", 3, [f"{name}-1" for name in topics[:5]])],
        notes=[f"broker 7 has <no> rack & gets one of its own{more}"],
        bandwidth=100_000_000,
        expected_seconds=60.0 * batches,
        batches_seconds=75.0 * batches,
        bound_seconds=50.0 * batches,
        bottleneck=BottleneckFigures(10, False, 9 * 10**9, 10**8),
        gains=[GainFigures("moves_per_broker", 20, 55.0 * batches), GainFigures("moves_per_broker", 5, 60.0 * batches)],
        impact=ImpactFigures(lacking=2),
        timeline=TimelineFigures(9.0, [BrokerTraffic(b + 1, [b * 10**7] * 60, [10**8] * 60) for b in range(brokers)]),
    )  # fmt: skip
    with PlanWriter(path, 5) as writer:
        for number in range(1, batches + 1):
            moved = [(topic, 2 * number + turn, turn) for topic in topics for turn in range(2)]
            writer.write_batch(number, [(topic, index, (1, 2), (1, 10), -1) for topic, index, _ in moved], {})
            for topic, index, turn in moved:
                reason = f"broker {turn + 1} has 140% of its share of bytes{more}"
                writer.moves.add((topic, index, [1, 2], [1, 10], 1, 600_000_000, reason, "bytes", number, 0))
        writer.write_summary(summary)
        writer.publish()
    return path


class Reader(HTMLParser):
    """What a browser would fetch and show, and which tags are left open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.labels: list[str | None] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "path", "use"}:
            self.open.append(tag)
        links = {"src", "href", "xlink:href", "srcset", "data"}
        inside = ("#", "data:image/png;base64,")
        self.fetched += [value for key, value in attributes if key in links and value and not value.startswith(inside)]

        self.labels += [value for key, value in attributes if key == "aria-label"]

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag not in {"path", "use"}:
            assert self.open.pop() == tag


def test_dp_3_the_page_of_a_plan_shows_all_and_fetches_nothing(tmp_path: Path) -> None:
    plan = write_plan(tmp_path / "plan")

    file = plan_report.write(plan)

    assert file == plan / "report.html"
    text = file.read_text()
    reader = Reader()
    reader.feed(text)
    assert (reader.open, reader.fetched) == ([], [])
    assert not re.search(r"@import|url\((?!#)", text)
    assert text.count("<svg") == 4, "brokers, racks, what they send and receive, timeline"
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert "DejaVu" not in text
    for shown in (
        *("Bytes", "Replicas", "Leaders", "fair share", "12.0 GB", "1.09 times", "9 min 0 s"),
        *("broker 10 receives 9.0 GB at 100.0 MB/s", "1.20 times as long", "8 min 15 s with 20 moves per broker"),
        *("11 min 15 s one after the other", "Received"),
        *(
            "New brokers 10, 11, 12 take their share (--headroom 0.1)",
            "What changes",
            "12.0 GB are copied in 9 min 0 s",
        ),
        *(f"submit --bootstrap-server HOST:PORT --plan {plan} --undo --execute", "at risk until the move ends"),
        *("broker 2 has 140% of its share of bytes", "t-1"),
        "broker 7 has &lt;no&gt; rack &amp; gets one of its own",
    ):
        assert shown in text, shown
    assert (text.count("<table data-filters="), text.count("<script>")) == (1, 1), "the moves can be filtered"
    assert "`" not in re.sub(r"(?s)<script>.*?</script>", "", text), "a page has no code in backticks"
    plan_report.write(plan)
    assert "with 5 moves per broker" not in text, "it gains nothing"
    again = (plan / plan_report.NAME).read_text()
    assert again == text, "the same plan gives the same page"
    assert sorted(path.name for path in plan.iterdir()) == [
        "batches", "left_out", "moves", "report.html", "rollback", "summary.json"
    ]  # fmt: skip


def test_dp_3_the_page_of_a_plan_with_one_of_each_has_no_plural(tmp_path: Path) -> None:
    plan = write_plan(tmp_path / "plan", brokers=3, batches=1)
    found = read_summary(plan)
    left = [msgspec.structs.replace(found.left_out[0], partitions=1)]
    one = msgspec.structs.replace(found, moves=1, partitions=1, left_out=left)
    (plan / SUMMARY).write_bytes(msgspec.json.encode(one))
    plan_report.write(plan)
    text = (plan / plan_report.NAME).read_text()
    assert [f">{words}<" in text for words in ("move of 1 partition", "batch", "partition left out")] == [True] * 3


def test_dp_3_a_plan_of_many_brokers_and_batches_is_still_a_page(tmp_path: Path) -> None:
    plan_report.write(write_plan(tmp_path / "plan", brokers=120, batches=80))
    text = (tmp_path / "plan" / plan_report.NAME).read_text()
    assert "Bytes copied over time" in text
    assert "and 60 more" in text
    assert len(text) < 2_000_000


def test_dp_3_a_plan_of_tens_of_thousands_of_topics_with_the_longest_names_is_still_a_page(tmp_path: Path) -> None:
    names = [f"{'n' * 244}{number:05d}" for number in range(20_000)]
    more = f" {HIDDEN}{'W' * 1_000}"
    write_plan(tmp_path / "plan", batches=1, topics=names, racks=["r" * 250, "$x_{$", ODD], more=more)
    plan_report.write(tmp_path / "plan")
    text = (tmp_path / "plan" / plan_report.NAME).read_text()
    assert len(text) < 3_000_000
    assert text.count("<tr>") < 2_100
    assert "40,000" in text
    assert "… and 38000 more" in text
    assert f"{names[0]}-2" in text
    assert not set("\x1b\u202e") & set(text)
    assert "<script>alert" not in text


def test_dp_3_a_plan_that_cannot_be_read_gets_no_page(tmp_path: Path) -> None:
    plan = write_plan(tmp_path / "plan")
    [part] = (plan / plan_directory.MOVES).iterdir()
    part.write_bytes(part.read_bytes()[:50])
    with pytest.raises(BadInput, match="not a readable Parquet file"):
        plan_report.write(plan)
    assert not (plan / "report.html").exists()
    with pytest.raises(BadInput):
        plan_report.write(tmp_path)


ODD = "<script>alert('x')</script>&\"{{ 7 * 7 }}{% raw %}"
"""A name that would be markup, an attribute's end or a template's code if a page did not escape it."""


def test_dp_3_no_name_from_a_cluster_becomes_markup() -> None:
    page = HtmlPage(ODD, ODD)
    page.heading(ODD, ODD)
    page.table([ODD], [[ODD]])
    page.table([ODD, ODD], [[ODD, ODD]], text=(), more=3)
    page.notes([ODD])
    page.tiles([(ODD, ODD)])
    page.text(ODD)
    svg = svg_plots.bar_plots([ODD], [svg_plots.Bars("<t>", None, [1], None, str)], "</svg>")
    page.figure(svg, ODD)
    text = page.html()
    reader = Reader()
    reader.feed(text)
    assert (reader.open, reader.fetched) == ([], [])
    assert text.count("<svg") == text.count("</svg>") == 1
    assert "<script" not in text
    assert "<t>" not in text
    assert " ".join(reader.text).count(ODD) == 15, "in every place as it is, as text"
    assert abridged(ODD, 20) in reader.text, "below its bar"
    assert reader.labels == [ODD]


HIDDEN = "\x1b[31m\n\u202egnp"
"""Characters that a terminal obeys, or that turn a text around."""


def test_dp_3_what_nobody_could_read_is_written_as_escapes() -> None:
    page = HtmlPage(HIDDEN, HIDDEN)
    page.table([HIDDEN], [[HIDDEN]])
    page.notes([HIDDEN])
    page.text(HIDDEN)
    text = page.html()
    assert text.count(r"\x1b[31m\n\u202egnp") == 8
    assert not set("\x1b\u202e") & set(text)


@for_each("name", ["$x_{$", r"$\frac$", "a$b$c", "\u65e5\u672c", "\U0001f389", "_x", HIDDEN, "r" * 250, ODD])
def test_dp_3_a_rack_of_any_name_has_its_bar(name: str) -> None:
    bars = svg_plots.Bars("Bytes", None, [1, 2], None, str)
    svg = svg_plots.bar_plots([name, "other"], [bars], "rack")
    reader = Reader()
    reader.feed(svg)
    assert abridged(printable(name), 20) in reader.text, "as text, and never as a formula"
    assert "other" in reader.text


def ticks(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


@pytest.mark.parametrize("batches", [1, 2, 12])
def test_dp_3_each_of_few_batches_has_its_number_and_no_other_number_is_there(batches: int) -> None:
    svg = svg_plots.timeline([0.0] * batches, [60.0] * batches, "When", "batch", lambda _: "a time")
    assert [text for text in ticks(svg) if text.isdigit()] == [str(number) for number in range(1, batches + 1)]


def test_dp_3_neighbours_on_an_axis_do_not_have_the_same_text() -> None:
    svg = svg_plots.timeline([0.0], [1.2], "When", "batch", duration)
    times = [text for text in ticks(svg) if text.endswith(" s")]
    assert times == ["0 s", "1 s"], "it has ticks at 0.2 s, 0.4 s and so on"
    line = svg_plots.line_plot([0.0, 1.0], [svg_plots.Line("n", [0.0, 2.0])], "n", lambda value: f"{value:.0f}", str)
    whole = [text for text in ticks(line) if text.isdigit()]
    assert whole == sorted(set(whole))


def test_dp_3_names_below_bars_leave_room_for_one_another() -> None:
    def named(names: list[str]) -> int:
        bars = svg_plots.Bars("Bytes", None, [1] * len(names), None, str)
        reader = Reader()
        reader.feed(svg_plots.bar_plots(names, [bars], "rack"))
        return sum(one in reader.text for one in names)

    assert named([str(number) for number in range(10, 55)]) == 45
    assert named([str(number) for number in range(100_000, 100_045)]) == 15
    assert named([f"rack-{number:015d}" for number in range(12)]) == 6


def test_dp_4_submit_reads_the_batches_that_plan_writes(tmp_path: Path) -> None:
    plan = read_plan(write_plan(tmp_path / "plan"))
    assert (plan.summary.kind, len(plan.batches)) == ("expand", 9)
    entries = read_batch(plan.batches[1], plan.summary.kind)
    assert [(str(name), one.replicas, one.expected_replicas) for name, one in entries.items()] == [
        ("t-4", (1, 10), (1, 2)),
        ("t-5", (1, 10), (1, 2)),
    ]
