"""K: KIP-860's replication factor guard (version 1 of the request)."""

from kafka.protocol.admin import AlterPartitionReassignmentsRequest

from ..session import Session
from ..wire import Closed
from .registry import scenario


@scenario
async def k01_to_k09_version_1(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3], 1: [1, 2, 3], 2: [1, 2, 3]})
    wire = await s.cluster.connect(s.cluster.controller_id)
    for allow in (False, True):
        topics = [(s.real("t"), [(0, [1, 2, 3, 4]), (1, [1, 2, 4]), (2, []), (9, [1])])]
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=30_000, allow_replication_factor_change=allow, topics=topics
        )
        try:
            answer = await wire.ask(request, 1)
        except Closed:
            s.note(f"allowed: {allow}", "closed")
            continue
        results = [
            (p["partition_index"], p["error_code"], p["error_message"])
            for topic in answer["responses"]
            for p in topic["partitions"]
        ]
        s.note(f"allowed: {allow}", [answer["allow_replication_factor_change"], sorted(results)])
        await s.settled()


@scenario
async def k08_version_0_may_change_the_size(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3]})
    await s.alter("grow", {("t", 0): [1, 2, 3, 4]}, allow=True)
    await s.settled()
    await s.alter("shrink", {("t", 0): [4]}, allow=True)
    await s.settled()
    await s.state("shrunk")
