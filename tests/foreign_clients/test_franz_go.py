"""franz-go (Go): its admin client kadm and its kgo. Built from pinned modules at test time, once."""

import asyncio
import json

import pytest

from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.core.kafka_errors import NoReassignmentInProgress, UnknownTopicOrPartition
from kafka_reassign_rpc.fleet.fleet import BROKER_APIS
from kafka_reassign_rpc.kraft.kraft_node import MOVES_APIS
from kafka_reassign_rpc.protocol.versions import FIRST_VENDOR_KEY
from tests.interop.clusters import ComparedCluster
from tests.interop.comparing import Difference
from tests.stock.live import Transcript

from .brought import franz_go
from .comparison import the_same_on_both
from .conftest import Clusters

pytestmark = [pytest.mark.stock, pytest.mark.more, pytest.mark.asyncio(loop_scope="package"), pytest.mark.timeout(900)]

_VENDOR_KEYS = sorted(key for key in {*SERVER_APIS, *BROKER_APIS} if key >= FIRST_VENDOR_KEY)


async def test_sv_2_franz_go_takes_no_notice_of_vendor_keys_and_tags(clusters: Clusters) -> None:
    await asyncio.to_thread(franz_go)
    node = "our server stands in Metadata as node 1000"
    await the_same_on_both(
        _drive,
        clusters,
        "franz-go",
        Difference("", "brokers", "", [1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 1000], node),
        Difference("", "vendor keys", "", [], _VENDOR_KEYS, "what Kafka never allocated keys for"),
        Difference(
            "", "delete what never was", "[1]", "", UnknownTopicOrPartition.default_message, "we say it in words"
        ),
        Difference("", "a move has tags", "", False, True, "the identity of the move"),
        in_front=(
            Difference("", "vendor keys", "", [], sorted(MOVES_APIS.keys() & {*_VENDOR_KEYS}), "ours"),
            Difference("", "a move has tags", "", False, True, "the identity of the move"),
            *(
                Difference("", label, f"[{index}][1][1]", stock, ours, "our words")
                for label, index, stock, ours in (
                    (
                        "mixed",
                        1,
                        "The manual partition assignment includes broker 99, but no such broker is registered.",
                        "Replica assignment has brokers that are not alive. Replica list: ArrayBuffer(99)",
                    ),
                    ("mixed", 2, "Unable to find partition franz-go:9.", "The partition does not exist."),
                    ("unknown topic", 0, "Unable to find a topic named never-was.", "The partition does not exist."),
                    ("cancel again", 0, "", NoReassignmentInProgress.default_message),
                )
            ),
        ),
    )


async def _drive(bootstrap: str, topic: str, cluster: ComparedCluster) -> Transcript:
    await cluster.create_topic(topic, {0: [1, 2], 1: [2, 3]}, held=True)
    process = await asyncio.create_subprocess_exec(franz_go(), bootstrap, topic, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(240):
        out, _ = await process.communicate()
    assert process.returncode == 0
    return [(label, result) for label, result in json.loads(out)]
