"""`submit` of a drain cordons the brokers first, and says at its end whether they are empty."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.client import TopicPartition
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
from kafka_reassign_rpc.pipeline.parquet_files import DirectoryWriter
from kafka_reassign_rpc.pipeline.plans.plan_directory import LEFT_OUT
from kafka_reassign_rpc.pipeline.plans.plan_writer import LEFT_OUT_SCHEMA
from kafka_reassign_rpc.pipeline.submission.drained_brokers import NotEmpty
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit
from tests.pipeline.plans import write_plan
from tests.pipeline.simulated_cluster import SimulatedCluster, moves, submission

OPEN = "kafka-reassign cordon --bootstrap-server HOST:PORT --uncordon --brokers 1,2"
OPENS = f"`{OPEN}` opens them again"
CORDONED = f"brokers 1, 2 are cordoned: {OPENS}"
EMPTY = ["broker 1 is empty", "broker 2 is empty"]
AGAIN = "what is there was left out, came after the last look, or has nowhere to go; to plan it again:"


def drain(path: Path, topics: Sequence[str] = (), to: Sequence[int] = ()) -> Path:
    batch = moves(p0=((3, 4), (1, 2)), p1=((4, 3), (2, 3)))
    requested = {"brokers": [2, 1], "topics": list(topics), "to": list(to)}
    return write_plan(path, "c1", batch, kind="drain", requested=requested)


def again(path: Path, *to: str) -> list[str]:
    connected = "--bootstrap-server HOST:PORT"
    return [
        AGAIN,
        f"  kafka-reassign-rpc export {connected} --out {path}-snapshot",
        "  kafka-reassign-rpc plan drain --brokers 1 " + "".join(to) + f"--snapshot {path}-snapshot --out {path}-again",
        f"  kafka-reassign-rpc submit {connected} --plan {path}-again --execute",
    ]


def cluster(**others: tuple[int, ...]) -> SimulatedCluster:
    replicas = {0: (1, 2), 1: (2, 3)} | {int(name[1:]): found for name, found in others.items()}
    return SimulatedCluster(replicas, {1, 2, 3, 4})


def run(path: Path, of: SimulatedCluster, **options: Any) -> list[str]:
    """The lines about brokers."""
    said: list[str] = []
    submission(of, path, said=said, **options).execute()
    return about_brokers(said)


def about_brokers(said: Sequence[str]) -> list[str]:
    return [
        line for line in said if ("broker" in line or AGAIN in line or line[0] == " ") and "cannot refuse" not in line
    ]


def run_to_a_rest(path: Path, of: SimulatedCluster, full: str = "broker 1 is", **options: Any) -> list[str]:
    """The lines of a run after which some brokers are not empty."""
    said: list[str] = []
    with pytest.raises(
        NotEmpty, match=rf"^the plan is carried out \(\d+ moves? \w+ begun now\), but {full} not empty$"
    ):
        submission(of, path, said=said, **options).execute()
    return about_brokers(said)


@pytest.mark.parametrize("by_batch", [False, True])
def test_dh_2_submit_of_a_drain_cordons_the_brokers_before_its_first_move_and_says_that_they_are_empty(
    tmp_path: Path, by_batch: bool
) -> None:
    here = cluster()
    assert run(drain(tmp_path / "p"), here, by_batch=by_batch) == [CORDONED, *EMPTY]
    assert here.cordoned_ones == {1, 2}
    assert run(tmp_path / "p", here) == [CORDONED, *EMPTY], "once more, as after a kill"


@pytest.mark.parametrize("by_batch", [False, True])
def test_dh_2_what_came_to_a_drained_broker_meanwhile_is_moved_too(tmp_path: Path, by_batch: bool) -> None:
    here = cluster(p7=(1, 3), p8=(4, 1), p9=(3, 4))
    told = "2 partitions came to brokers 1, 2 meanwhile: t-7, t-8"
    assert run(drain(tmp_path / "p"), here, by_batch=by_batch, throttle=5_000_000) == [CORDONED, told, *EMPTY]
    assert [set(here.replicas[TopicPartition("t", index)]) for index in (7, 8)] == [{3, 4}, {3, 4}]
    rest = [one for one in here.altered if ("t", 7) in one.targets]
    assert {one.terms.throttle for one in rest} == {5_000_000}
    assert all(one.expected == {("t", 7): (1, 3), ("t", 8): (4, 1)} for one in rest)


def test_dh_2_what_has_nowhere_to_go_is_named_with_the_commands_that_move_it(tmp_path: Path) -> None:
    here = cluster(p7=(1, 3, 4))
    told = "broker 1 is not empty: it has 1 replica (t-7)"
    assert run_to_a_rest(drain(tmp_path / "p"), here) == [CORDONED, told, "broker 2 is empty", *again(tmp_path / "p")]


def test_dh_2_a_drain_whose_broker_is_opened_and_gets_ever_new_replicas_does_not_end_as_if_it_were_empty(
    tmp_path: Path,
) -> None:
    here = cluster()

    def open_and_fill() -> None:
        here.cordoned_ones = {2}
        here.replicas.setdefault(TopicPartition("t", len(here.replicas)), (1, 3))

    here.on_list = open_and_fill
    said = run_to_a_rest(drain(tmp_path / "p"), here)
    assert [line for line in said if line.startswith("broker 1 is not empty: it has ")]
    close = "`kafka-reassign cordon --bootstrap-server HOST:PORT --brokers 1` keeps new replicas away"
    assert said[-1] == f"broker 1 is not cordoned any more, somebody has opened it: {close}"
    assert "broker 2 is empty" in said


def test_dh_2_a_drained_broker_that_somebody_has_opened_is_empty_now_and_said_to_be_open(tmp_path: Path) -> None:
    here = cluster()

    def open_all() -> None:
        here.cordoned_ones = set()

    here.on_list = open_all
    said = run(drain(tmp_path / "p"), here)
    assert said[1:3] == EMPTY
    assert said[3].startswith("brokers 1, 2 are not cordoned any more, somebody has opened them: `")


def test_dh_2_what_came_meanwhile_goes_to_the_brokers_that_the_plan_names(tmp_path: Path) -> None:
    here = cluster(p7=(1, 3))
    here.live = {1, 2, 3, 4, 5, 6}
    run(drain(tmp_path / "p", to=(6,)), here)
    assert here.replicas[TopicPartition("t", 7)] == (6, 3)


def test_dh_2_what_came_meanwhile_goes_to_no_cordoned_broker(tmp_path: Path) -> None:
    here = cluster(p7=(1, 3))
    here.cordoned_ones = {1, 2, 4}
    assert run_to_a_rest(drain(tmp_path / "p"), here)[1] == "broker 1 is not empty: it has 1 replica (t-7)"
    assert not [one for one in here.altered if ("t", 7) in one.targets], "no broker may take it"


def test_dh_2_no_cordon_drains_without_and_a_drain_of_topics_alone_cordons_nothing(tmp_path: Path) -> None:
    here = cluster()
    assert run(drain(tmp_path / "p"), here, cordons=False) == EMPTY
    assert run(drain(tmp_path / "t", ["t"]), here) == []
    assert here.cordoned_ones == set()


def test_dh_2_where_the_controller_cordons_no_broker_submit_says_what_may_happen(tmp_path: Path) -> None:
    here = cluster()
    here.cordoned_ones = None
    why = "this controller cannot cordon brokers: new topics may land on brokers 1, 2 meanwhile"
    assert run(drain(tmp_path / "p"), here) == [why, *EMPTY]


def test_dh_2_a_cordon_that_is_refused_ends_the_drain_before_anything_moves(tmp_path: Path) -> None:
    here = cluster()
    here.errors["cordon"] = [ClusterAuthorizationFailed("No.")]
    with pytest.raises(JobFailed, match=r"^brokers 1, 2 could not be cordoned: No\. --no-cordon drains without$"):
        run(drain(tmp_path / "p"), here)
    assert here.altered == []


def test_dh_2_a_journal_that_cannot_be_read_ends_the_drain_before_it_cordons(tmp_path: Path) -> None:
    here, path = cluster(), drain(tmp_path / "p")
    (path / "submit.json").write_text("garbage")
    with pytest.raises(BadInput, match="remove it to take the cluster as it is now"):
        run(path, here)
    assert here.cordoned_ones == set()


def test_dh_2_a_dry_run_says_that_the_brokers_will_be_cordoned_and_cordons_none(tmp_path: Path) -> None:
    here, said = cluster(), list[str]()
    submission(here, drain(tmp_path / "p"), said=said).dry_run()
    assert said[0] == "brokers 1, 2 are cordoned first (--no-cordon: not)"
    assert here.cordoned_ones == set()


def test_dh_2_a_drain_with_moves_left_out_says_all_the_same_which_brokers_are_not_empty(tmp_path: Path) -> None:
    here, said = cluster(), list[str]()
    path = write_plan(
        tmp_path / "p", "c1", moves(p0=((3, 4), (1, 3))), kind="drain", requested={"brokers": [1], "topics": []}
    )
    with pytest.raises(PlanDoesNotFit):
        submission(here, path, said=said).execute()
    assert said[-5:] == ["broker 1 is not empty: it has 1 replica (t-0)", *again(path)]


def test_dh_2_the_undo_of_a_drain_says_how_its_brokers_are_opened(tmp_path: Path) -> None:
    here = cluster()
    run(drain(tmp_path / "p"), here)
    opens = f"brokers 1, 2 are still cordoned: `{OPEN}` opens them"
    assert run(tmp_path / "p", here, undo=True) == [opens]


def test_dh_2_what_the_plan_has_left_out_stays_for_its_size_is_not_known_here(tmp_path: Path) -> None:
    here, path = cluster(p7=(1, 3), p8=(1, 4)), drain(tmp_path / "p")
    left_out = DirectoryWriter(path / LEFT_OUT, LEFT_OUT_SCHEMA)
    left_out.add(("t", 7, [1, 3], "no broker has room for it"))
    left_out.close()
    assert "broker 1 is not empty: it has 1 replica (t-7)" in run_to_a_rest(path, here)
    assert here.replicas[TopicPartition("t", 7)] == (1, 3)
    assert set(here.replicas[TopicPartition("t", 8)]) == {3, 4}


@pytest.mark.parametrize("executes", [True, False], ids=["execute", "dry run"])
def test_dh_2_nothing_begins_where_rows_of_what_the_plan_has_left_out_are_lost(executes: bool, tmp_path: Path) -> None:
    """What they name would move as if it had come meanwhile, to brokers without room for it."""
    here, path = cluster(p7=(1, 3), p8=(1, 4)), drain(tmp_path / "p")
    summary = json.loads((path / "summary.json").read_text())
    summary["left_out"] = [{"reason": "no broker has room for it", "partitions": 2, "first": ["t-7", "t-8"]}]
    (path / "summary.json").write_text(json.dumps(summary))
    left_out = DirectoryWriter(path / LEFT_OUT, LEFT_OUT_SCHEMA)
    left_out.add(("t", 7, [1, 3], "no broker has room for it"))
    left_out.close()
    begun = submission(here, path)
    with pytest.raises(BadInput, match="left_out: has 1 of 2 rows: a file of it is missing; copy the plan or make it"):
        begun.execute() if executes else begun.dry_run()
    assert (here.altered, here.cordoned_ones) == ([], set())
    shutil.rmtree(path / LEFT_OUT)
    with pytest.raises(BadInput, match="left_out: no Parquet file there"):
        begun.execute() if executes else begun.dry_run()


def test_dh_2_a_run_that_was_killed_while_it_moved_the_rest_is_taken_up_by_the_next_one(tmp_path: Path) -> None:
    here, path = cluster(p7=(1, 3)), drain(tmp_path / "p")
    here.on_list = lambda: kill_once(here, TopicPartition("t", 7))
    with pytest.raises(Killed):
        run(path, here)
    assert TopicPartition("t", 7) in here.moves
    assert run(path, here, cordons=False)[-3:] == ["1 partition on the way from brokers 1, 2", *EMPTY]


class Killed(BaseException):
    pass


def kill_once(here: SimulatedCluster, name: TopicPartition) -> None:
    if name in here.moves:
        here.on_list = lambda: None
        raise Killed


def test_dh_2_a_plan_that_combines_a_drain_with_other_goals_cordons_the_drained_brokers_too(tmp_path: Path) -> None:
    here = cluster()
    batch = moves(p0=((3, 4), (1, 2)), p1=((4, 3), (2, 3)))
    parts = {"heal": [], "drain": [2, 1], "expand": [4]}
    write_plan(tmp_path / "p", "c1", batch, kind="combine", requested={"brokers": [], "parts": parts})
    assert run(tmp_path / "p", here) == [CORDONED, *EMPTY]
    assert here.cordoned_ones == {1, 2}
    submission(here, tmp_path / "p", undo=True).execute()
    assert here.replicas == {TopicPartition("t", 0): (1, 2), TopicPartition("t", 1): (2, 3)}
