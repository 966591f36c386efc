"""Requests with many elements, at the real server: what they have needed is free once they are answered."""

import gc
from contextlib import suppress
from functools import partial

from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.protocol.frame_codec import request_prefix
from kafka_reassign_rpc.protocol.messages import REQUESTS, ApiVersionsRequest
from kafka_reassign_rpc.protocol.served_connection import MAX_REQUEST_BYTES
from tests.controller.cluster import Cluster, cluster
from tests.http_client import get
from tests.largest_frames import arrays, largest_frame, most_accepted
from tests.raw_client import connected
from tests.waiting import eventually

ELEMENTS = 1_000
ANY = request_prefix(ApiVersionsRequest, version=0, correlation_id=2, client_id="x", body_size=0)
"""A request that is always answered."""
OF_OTHERS = 500
"""Objects that the collector may find: the server does other things too."""


async def holds_no_request(world: Cluster) -> bool:
    return b"\nkafka_reassign_request_bytes 0.0\n" in (await get(world.metrics_address, "/metrics")).body


async def test_sv_6_a_request_with_many_elements_leaves_nothing_to_the_garbage_collector(zk_connect: str) -> None:
    """The collector looks at old objects once a minute: until then, a cycle would keep all that it leads to."""
    found: dict[str, int] = {}
    async with cluster(zk_connect, metrics=True) as world:
        await world.create_topic("t", {0: (1, 2), 1: (1, 2)})
        (address,) = world.addresses.values()
        for api in SERVER_APIS.values():
            version = api.max_version
            for path in arrays(REQUESTS[api.key], version):
                most = min(ELEMENTS, most_accepted(api.key, version, path, api.max_elements))
                frame = largest_frame(api.key, version, path, MAX_REQUEST_BYTES, most)
                gc.collect()
                gc.disable()
                try:
                    async with connected(address) as client:
                        await client.send(frame + ANY)  # Produce with acks=0 has no answer of its own
                        with suppress(EOFError):
                            await client.frame()
                    await eventually(partial(holds_no_request, world))
                    found[f"{api.name} {'.'.join(path)}"] = gc.collect()
                finally:
                    gc.enable()
    assert {name: count for name, count in found.items() if count > OF_OTHERS} == {}
    assert len(found) > len(SERVER_APIS)
