"""What is left to be done, from what ZooKeeper holds: a table of states."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from kafka_reassign_rpc.controller.controller_election import ControllerOwner
from kafka_reassign_rpc.controller.store import Entity, StoredConfigs
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import REQUEST, MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import BatchEntry, BatchZnode
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, RateMemory
from kafka_reassign_rpc.leaving.facts import Facts
from kafka_reassign_rpc.leaving.kept_file import Kept, with_facts
from kafka_reassign_rpc.leaving.steps import Act, steps
from kafka_reassign_rpc.preflight.own_znodes import ROOTS, OwnZnode, OwnZnodes, is_ours, root_of
from kafka_reassign_rpc.preflight.read_state import ControllerNow, FoundState
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Delete, SetData, Stat
from tests.core.build import cluster, moving, not_moving
from tests.preflight.found_states import found_state
from tests.tables import for_each

RATE = "leader.replication.throttled.rate"
FAILED = OwnZnode("/admin/failed_brokers/7", 41, 3, 0)
PARENT = OwnZnode("/admin/failed_brokers", 40, 0, 0)
STAT = Stat(9, 9, 0, 0, 4, 0, 0, 0, 0, 0, 9)
OURS = ControllerOwner(1000, (), 5, 0)
NAME = TopicPartition("t", 1)


class Found:
    """A cluster of three brokers, which broker 1 controls and where one failure is noted; `facts` after changes."""

    def __init__(self) -> None:
        self.cluster: Cluster = cluster(not_moving(1, 2), not_moving(2, 3), live=(1, 2, 3))
        self.state = found_state()
        self.facts: dict[str, Any] = {
            "own": OwnZnodes([FAILED, PARENT], []),
            "epoch": 8,
            "servers": {},
            "leased": [],
            "requests": {},
            "configs": {},
            "lacking": {},
            "unreadable": [],
        }

    def with_server(self) -> None:
        self.facts["servers"] = {1000: (Endpoint("PLAINTEXT", "PLAINTEXT", "h", 9092),)}
        self.state["controller"] = ControllerNow(OURS, 3, 0, None)

    def result(self) -> Facts:
        return Facts(FoundState(cluster=self.cluster, **self.state), **self.facts)


def in_flight(found: Found) -> None:
    found.cluster.topics["t"].partitions[0] = moving([1, 2], [2, 3])
    found.cluster.moving["t"] = {0}


def waiting_batch(found: Found) -> None:
    found.cluster.batch = BatchZnode(entries={NAME: BatchEntry((1, 2))}, version=6, changed=77)


def controlled(found: Found) -> None:
    found.with_server()


def held(found: Found) -> None:
    found.with_server()
    found.cluster.disabled_by_znode = True


def nobody(found: Found) -> None:
    found.state["controller"] = ControllerNow(None, 3, 0, None)


def taken_by_kraft(found: Found) -> None:
    found.state["controller"] = ControllerNow(ControllerOwner(3000, (), 0, 0, kraft_epoch=1), 3, 0, None)


def leased(found: Found) -> None:
    memory = BrokerMemory(leader=RateMemory("100", "700", 100))
    stored = StoredConfigs(Entity("brokers", "1"), {RATE: "100"}, memory, None, (STAT, STAT))
    found.facts["leased"] = [stored]


def requested(found: Found) -> None:
    path = "/admin/reassignment_requests/request_0000000001"
    found.facts["requests"] = {path: {NAME: MoveTerms((1, 2), REQUEST)}}
    found.facts["own"] = OwnZnodes([OwnZnode(path, 50, 0, 0)], [])


def with_replica_on_our_id(found: Found) -> None:
    found.state["taken_ids"] = ["2"]
    found.cluster.brokers.pop(2)


def both(*changes: Callable[[Found], None]) -> Callable[[Found], None]:
    def change_all(found: Found) -> None:
        for change in changes:
            change(found)

    return change_all


CASES: dict[str, tuple[Callable[[Found], None], bool, list[str]]] = {
    "a note of a failure": (lambda _: None, False, ["znodes"]),
    "nothing": (lambda found: found.facts.update(own=OwnZnodes([], [])), False, []),
    "nothing, and no controller": (
        both(nobody, lambda found: found.facts.update(own=OwnZnodes([], []))),
        False,
        [],
    ),
    "our server controls": (controlled, False, ["hold", "servers", "controller", "znodes"]),
    "and has been told to start nothing": (held, False, ["servers", "controller", "znodes"]),
    "with a move": (both(held, in_flight), False, ["moves", "servers", "controller", "znodes"]),
    "with a move that is handed over": (both(held, in_flight), True, ["servers", "controller", "znodes"]),
    "with entries that wait": (both(held, waiting_batch), False, ["batch", "servers", "controller", "znodes"]),
    "a stock controller's own move": (in_flight, False, ["znodes"]),
    "a stock controller's own batch": (waiting_batch, False, ["znodes"]),
    "nobody controls": (both(nobody, waiting_batch), False, ["batch", "controller", "znodes"]),
    "nobody controls and no broker lives": (
        both(nobody, lambda found: found.cluster.brokers.clear()),
        False,
        ["znodes"],
    ),
    "a standby of ours runs": (
        lambda found: found.facts.update(servers={1001: ()}),
        False,
        ["servers", "znodes"],
    ),
    "a lease": (leased, False, ["leases", "znodes"]),
    "a lease, and KRaft has taken over": (both(leased, taken_by_kraft), False, ["migration", "znodes"]),
    "a request": (requested, False, ["queue", "znodes"]),
    "configs of our node": (
        lambda found: found.facts.update(configs={"/config/brokers/1000": (b"", STAT)}),
        False,
        ["settings", "znodes"],
    ),
    "defaults of Kafka": (
        lambda found: found.facts.update(configs={"/config/brokers/<default>": (b"", STAT)}),
        False,
        ["znodes"],
    ),
    "a topic that lacks replicas": (
        lambda found: found.facts.update(lacking={"/brokers/topics/t": (b'{"missing_replicas":{"0":1}}', STAT)}),
        False,
        ["topics", "znodes"],
    ),
    "a broken znode": (lambda found: found.facts.update(unreadable=["/x"]), False, ["unreadable", "znodes"]),
    "a znode of somebody else": (
        lambda found: found.facts.update(own=OwnZnodes([FAILED, PARENT], ["/admin/failed_brokers/x"])),
        False,
        ["znodes", "others"],
    ),
    "a replica on our id": (with_replica_on_our_id, False, ["replicas", "znodes"]),
}


@for_each("case", CASES)
def test_mg_2_what_is_left_is_done_in_an_order_in_which_nothing_is_lost(case: str) -> None:
    change, hand_over, wanted = CASES[case]
    found = Found()
    change(found)

    left = steps(found.result(), hand_over=hand_over)

    assert [one.subject for one in left] == wanted
    for one in left:
        assert bool(one.writes) == (one.act is Act.DO), one
        assert bool(one.advice) == (one.act is not Act.DO), one


def test_mg_2_the_check_that_names_the_configs_that_stay_is_named_with_the_flag_that_it_needs() -> None:
    found = Found()
    both(leased, taken_by_kraft)(found)
    [step] = [one for one in steps(found.result(), hand_over=False) if one.subject == "migration"]
    assert step.advice.startswith("`kafka-reassign-rpc check --for-kraft`, with the same --zookeeper-connect, names ")


def test_mg_2_a_znode_is_deleted_in_the_version_that_was_read_and_one_created_since_is_another_step() -> None:
    found = Found()
    [step] = steps(found.result(), hand_over=False)
    assert step.writes == ((Delete("/admin/failed_brokers/7", 3), Delete("/admin/failed_brokers", 0)),)
    found.facts["own"] = OwnZnodes([FAILED._replace(created=99), PARENT], [])
    assert steps(found.result(), hand_over=False) != [step]


def test_mg_2_a_lease_goes_back_to_the_value_from_before_in_the_transaction_that_forgets_it() -> None:
    found = Found()
    leased(found)
    [transaction] = steps(found.result(), hand_over=False)[0].writes
    assert Delete("/admin/reassignment_throttles/brokers/1", 4) in transaction
    [write] = [one for one in transaction if isinstance(one, SetData)]
    assert (write.path, write.version) == ("/config/brokers/1", 4)
    assert b'"leader.replication.throttled.rate":"700"' in write.data


def test_mg_2_an_operator_who_takes_throttles_back_while_partitions_move_learns_so() -> None:
    found = Found()
    leased(found)
    assert steps(found.result(), hand_over=False)[0].text.endswith("on brokers/1")
    in_flight(found)
    assert steps(found.result(), hand_over=False)[0].text.endswith("; partitions that still move go on without them")


def test_mg_2_the_field_of_ours_leaves_a_topic_and_every_other_byte_stays() -> None:
    found = Found()
    data = b'{"version":3,"missing_replicas":{"0":1},"partitions":{"0":[1]},"x":{"y":[ 1]}}'
    found.facts["lacking"] = {"/brokers/topics/t": (data, STAT)}
    [[write]] = steps(found.result(), hand_over=False)[0].writes
    assert write == SetData("/brokers/topics/t", b'{"version":3,"partitions":{"0":[1]},"x":{"y":[ 1]}}', 4)


@for_each(
    ("path", "ours"),
    [
        ("/admin/reassignments/t/0", True),
        ("/admin/reassignments/t/00", False),
        ("/admin/reassignments/t/0/x", False),
        ("/admin/reassignment_servers/1000", True),
        ("/admin/reassignment_server_ids/1000", True),
        ("/admin/reassignment_servers/x", False),
        ("/admin/reassignment_receipts/00000000000000ff_3", True),
        ("/admin/reassign_partitions_queue/part_0000000001", True),
        ("/admin/reassign_partitions_queue/part_1", False),
        ("/admin/reassign_partitions_extra", True),
        ("/admin/reassign_partitions", False),
        ("/admin/delete_topics/t", False),
        ("/admin/reassign_cancel/x", False),
        ("/admin/reassignment_throttles/users/a", False),
    ],
)
def test_mg_2_a_znode_is_ours_only_if_a_server_could_have_made_it(path: str, *, ours: bool) -> None:
    assert is_ours(path) is ours
    assert root_of(path) in (*ROOTS, "")


def test_mg_2_no_znode_of_ours_is_skipped() -> None:
    of_kafka = {
        znode_paths.DELETE_TOPICS,
        znode_paths.REASSIGN_PARTITIONS,
        znode_paths.PREFERRED_REPLICA_ELECTION,
    }
    named = {path for path in vars(znode_paths).values() if isinstance(path, str) and path.startswith("/admin/")}
    assert named - of_kafka == set(ROOTS)
    assert set(znode_paths.OWN) <= set(ROOTS)


def test_mg_2_what_the_file_has_kept_stays_in_it_and_what_is_new_joins_it() -> None:
    found = Found()
    waiting_batch(found)
    in_flight(found)
    record = found.cluster.topics["t"].partitions[0].move
    kept = with_facts(Kept("c", partitions=[{"topic": "u", "partition": 0, "replicas": [1]}]), found.result())
    assert [(one["topic"], one["partition"]) for one in kept.partitions] == [("u", 0), ("t", 1)]
    assert kept.partitions[1]["replicas"] == [1, 2]
    assert len(kept.originals.partitions) == (0 if record is None else 1)
    found.cluster.batch = replace(found.cluster.batch, entries={}) if found.cluster.batch else None
    assert with_facts(kept, found.result()) == kept
