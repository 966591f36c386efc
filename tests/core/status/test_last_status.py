"""What was known last, where the present is not known: never as if it were the present."""

from typing import Any

from msgspec.structs import replace

from kafka_reassign_rpc.core.healing.self_healing_status import FailedBroker, HealingStatus
from kafka_reassign_rpc.core.status.documents import Status
from kafka_reassign_rpc.core.status.summary import newer, status_of, with_last
from kafka_reassign_rpc.reassign_command.status_text import last_lines
from tests.status_page.views import cluster_of, move, server_of, term_of


def of_controller(at: int) -> Status:
    term = term_of(cluster_of({"t": {0: move((1,), (2,), reason="OPS-77")}}))
    healing = HealingStatus(60_000, paused=True, held_back=None, failed=[FailedBroker(9, 1, None, 1)], waiting=0,
                            moving=0, problems=["topic secret has no room"])  # fmt: skip
    return status_of(server_of(term._replace(healing=healing)), at=at, version="1", full=True)


def of_standby(at: int, **changes: Any) -> Status:
    return status_of(server_of(None)._replace(**changes), at=at, version="1", full=True)


def test_sv_11_a_server_that_does_not_know_the_moves_shows_what_was_known_last_with_its_time() -> None:
    kept = newer(None, of_controller(1_000))
    found = with_last(of_standby(61_000), kept, full=True)
    assert (found.totals, found.work, found.enabled) == (None, None, None), "unknown stays unknown"
    assert found.last is not None
    assert found.last.totals is not None
    assert (found.last.at, found.last.totals.in_flight) == (1_000, 1)
    assert with_last(of_controller(2_000), kept, full=True).last is None, "the present needs no past"
    assert with_last(of_standby(1), None, full=True).last is None
    assert newer(kept, None) is kept
    assert newer(kept, of_standby(5)) is kept, "one that knows nothing does not take its place"
    again = newer(kept, replace(of_controller(3_000), last=kept))
    assert again is not None
    assert (again.at, again.last) == (3_000, None), "no chain of pasts is kept"


def test_sv_11_a_page_of_counts_has_no_names_of_the_past_either() -> None:
    found = with_last(of_standby(61_000), of_controller(1_000), full=False).last
    assert found is not None
    assert (found.access, found.groups, found.controller.page) == ("counts", None, None)
    assert "OPS-77" not in str(found)
    assert "secret" not in str(found)
    assert [one.text for one in found.problems if one.kind == "healing_paused"] == ["healing paused"]


def test_sv_11_the_command_says_how_old_it_is_or_that_nothing_is_known() -> None:
    lines = list(last_lines(with_last(of_standby(61_000), of_controller(1_000), full=True)))
    assert lines[0].startswith("Last known by server 1000 1 min")
    assert "1970-01-01 00:00:01 UTC" in " ".join(lines[:2])
    assert any("1 move in flight" in line for line in lines)
    assert list(last_lines(of_standby(1))) == [
        "The state of the moves is not known, and the server that answers has known none",
        "    before.",
    ]
    assert list(last_lines(of_controller(1))) == []
