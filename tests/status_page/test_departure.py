"""`/api/v1/departure` over real sockets, of large clusters and of questions that make no sense."""

import json

import pytest

from tests.http_client import get
from tests.longest_turn import tries
from tests.status_page.documented import Documented
from tests.status_page.served import served
from tests.status_page.views import at_rest, cluster_of, server_of, term_of


def at(page: str) -> str:
    """Host and port."""
    return page.removeprefix("http://").rstrip("/")


async def test_dh_6_whether_brokers_may_go_is_counted_in_short_turns() -> None:
    partition = at_rest(1, 2, 3)
    topics = {f"topic-{n}": dict.fromkeys(range(100), partition) for n in range(100)}
    look = server_of(term_of(cluster_of({**topics, "alone": {0: at_rest(4)}})))
    for measured in tries():
        async with served(lambda: look) as (page, _), measured:
            answers = [
                await get(at(page), f"/api/v1/{path}")
                for path in ("departure?brokers=1,2,3", "brokers", "departure?brokers=4")
            ]
    assert [one.status for one in answers] == [200] * 3
    every, each, alone = (json.loads(one.body) for one in answers)
    assert every["departure"]["last_in_sync"]["count"] == 10_000
    assert every["departure"]["last_in_sync"]["left_out"] == 9_900
    assert {one["id"]: one["departure"]["may_go"] for one in each["brokers"]} == {1: True, 2: True, 3: True, 4: False}
    assert alone["departure"]["last_in_sync"]["partitions"] == ["alone-0"]


@pytest.mark.parametrize(
    "query", ["", "?brokers=", "?brokers=1;2", "?brokers=1&broker=2", "?brokers=-1", "?brokers=01"]
)
async def test_dh_6_a_question_about_no_broker_is_refused(query: str) -> None:
    look = server_of(term_of(cluster_of({})))
    async with served(lambda: look) as (page, _):
        answer = await get(at(page), f"/api/v1/departure{query}")
    assert answer.status == 400
    assert "brokers" in json.loads(answer.body)["error"]


async def test_dh_6_the_answer_is_as_documented_and_only_a_server_that_knows_gives_it() -> None:
    term = term_of(cluster_of({"t": {0: at_rest(1), 1: at_rest(1, 2)}}))
    look = server_of(term)
    async with served(lambda: look) as (page, _):
        api = Documented(at(page))
        told = await api.ask("departure?brokers=1")
        assert (told["may_go"], told["departure"]["last_in_sync"]["partitions"]) == (False, ["t-0"])
        look = server_of(term._replace(knows_configs=False))  # as `watch` sees it
        assert "check` with --without" in (await api.ask("departure?brokers=1", 503))["error"]
        seen = await api.ask("brokers")
        assert {one["departure"] for one in seen["brokers"]} == {None}
        assert seen["racks"] == []
        look = server_of(None)
        await api.ask("departure?brokers=1", 503)


async def test_dh_6_a_server_that_is_not_the_controller_while_it_counts_knows_no_answer() -> None:
    mine, others = server_of(term_of(cluster_of({"t": {0: at_rest(1)}}))), server_of(None)
    looks = iter((mine, others))
    async with served(lambda: next(looks, mine)) as (page, _):
        api = Documented(at(page))
        assert "not the controller" in (await api.ask("departure?brokers=1", 503))["error"]
