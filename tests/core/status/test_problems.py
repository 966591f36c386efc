"""What an operator has to look at first: a case for each problem that a document may begin with."""

from typing import Any

from kafka_reassign_rpc.core.healing.self_healing_status import FailedBroker, HealingStatus
from kafka_reassign_rpc.core.status.documents import StatusProblem
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import ServerView
from tests.core.build import broker
from tests.status_page.views import at_rest, cluster_of, server_of, term_of

FIRST_MISSED = 1_764_194_400_000


def problems(view: ServerView) -> dict[str, StatusProblem]:
    return {one.kind: one for one in status_of(view, at=1, version="1", full=True).problems}


def healing(**changes: Any) -> HealingStatus:
    failed = [FailedBroker(8, FIRST_MISSED, FIRST_MISSED + 60_000, 3)]
    return HealingStatus(
        60_000, **{"paused": False, "held_back": None, "failed": failed, "waiting": 0, "moving": 0, **changes}
    )


def test_fg_5_a_server_without_a_controller_says_so() -> None:
    assert problems(server_of(None)._replace(brokers={1: broker(1)})) == {}, "a standby that knows its controller"
    assert problems(server_of(None, controller=-1))["no_controller"].text == "no controller is known"
    connecting = server_of(None)._replace(role="", reason="")
    assert problems(connecting)["no_controller"].text == "this server is not ready"
    assert problems(connecting._replace(reason="no ZooKeeper"))["no_controller"].text == "no ZooKeeper"


def test_fg_5_a_server_at_a_place_without_a_cluster_says_that_the_chroot_may_be_wrong() -> None:
    empty = server_of(term_of(cluster_of({}, live=())))
    for view in (empty, server_of(None)):
        found = problems(view)["no_brokers"]
        assert found.level == "wrong"
        assert "A mistyped chroot looks the same" in found.text
    down = problems(server_of(term_of(cluster_of({"t": {0: at_rest(1)}}, live=()))))["no_brokers"]
    assert down.text == "no broker is registered, and there is 1 topic: all brokers are down"
    assert "no_brokers" not in problems(server_of(term_of(cluster_of({}))))


def test_fg_5_lost_brokers_are_named_with_the_time_of_their_loss_and_of_their_repair() -> None:
    cluster = cluster_of({"t": {0: at_rest(1)}})
    cluster.failed = {8: FIRST_MISSED, 9: -1}
    found = problems(server_of(term_of(cluster)._replace(healing=healing())))["lost_brokers"]
    assert found.text == (
        "4 of 6 brokers live; lost: 8 since 2025-11-26 22:00:00 UTC, healed at 2025-11-26 22:01:00 UTC; 9"
    )
    assert found.since == FIRST_MISSED
    asked = problems(server_of(term_of(cluster)._replace(healing=healing(approval=True))))["lost_brokers"]
    assert asked.text.endswith("22:00:00 UTC, ready for approval at 2025-11-26 22:01:00 UTC; 9")
    cluster.failed = dict.fromkeys(range(10, 17), -1)
    found = problems(server_of(term_of(cluster)))["lost_brokers"]
    assert found.text == "4 of 11 brokers live; lost: 10; 11; 12; 13; 14 and 2 more"
    assert found.since is None, "nobody knows when"
    cluster.failed = {1: FIRST_MISSED}
    assert "lost_brokers" not in problems(server_of(term_of(cluster))), "it is back"


def test_fg_5_a_pause_is_one_problem_though_it_also_holds_repairs_back() -> None:
    term = term_of(cluster_of({"t": {0: at_rest(1)}}))
    paused = problems(server_of(term._replace(healing=healing(paused=True, held_back="it is paused"))))
    assert paused.keys() >= {"healing_paused"}
    assert "healing_held_back" not in paused
    held = problems(server_of(term._replace(healing=healing(held_back="two are gone"))))
    assert held["healing_held_back"].text == "Self-healing is held back: two are gone"
