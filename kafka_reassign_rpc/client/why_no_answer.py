"""Why a question that any broker may answer, or pass on to the controller, had no answer.

A broker in KRaft mode keeps what it has to pass on for as long as no controller is active: it looks as if it hung, and
is not to blame. So each node is asked on a connection of its own, since a broker answers in order.
"""

import asyncio
from collections.abc import Mapping

from kafka_reassign_rpc.client.client_errors import NoActiveController, Unauthenticated, Unreachable
from kafka_reassign_rpc.client.node_connections import NodeConnections
from kafka_reassign_rpc.core.state.kraft_facts import LostQuorum
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import DescribeQuorumRequest
from kafka_reassign_rpc.support.counted import first_of

ANSWER_S = 3.0
"""A node that lives says in this time what it serves, and a broker what an active controller has sent it."""
NAMED = 5
METADATA_LOG = "__cluster_metadata"

Found = Unreachable | bool
"""Why a node does not answer; else whether it answers alone: it would pass questions on, and no node takes them."""


async def explained(nodes: NodeConnections, *, may_have_had_effect: bool) -> Unreachable | None:
    """None: the node that was asked may be to blame."""
    asked = list(nodes.nodes)
    found = await asyncio.gather(*(_ask(nodes, node) for node in asked))
    return _reason(dict(zip(asked, found, strict=True)), may_have_had_effect)


def _reason(found: Mapping[int, Found], may_have_had_effect: bool) -> Unreachable | None:
    dead = {node: why for node, why in found.items() if isinstance(why, Unreachable)}
    alone = sorted(node for node, one in found.items() if one is True)
    if alone and len(alone) + len(dead) == len(found):
        return NoActiveController(
            LostQuorum(alone, dict.fromkeys(sorted(dead))), may_have_had_effect=may_have_had_effect
        )
    if dead and len(dead) == len(found):
        reasons = [dead[node].message for node in sorted(dead)]
        return Unreachable(first_of(reasons, NAMED, between="; "), may_have_had_effect=may_have_had_effect)
    return None


async def _ask(nodes: NodeConnections, node: int) -> Found:
    try:
        async with asyncio.timeout(ANSWER_S):
            connection = await nodes.apart(node)
    except Unauthenticated:
        return False
    except Unreachable as error:
        return error
    except TimeoutError:
        return Unreachable(f"{nodes.nodes.get(node)}: no answer within {ANSWER_S:g} s")
    try:
        if DescribeQuorumRequest.API_KEY not in await connection.versions():
            return False
        of_log = DescribeQuorumRequest.TopicData
        one = of_log(topic_name=METADATA_LOG, partitions=[of_log.PartitionData(partition_index=0)])
        async with asyncio.timeout(ANSWER_S):
            await connection.call(DescribeQuorumRequest, DescribeQuorumRequest(topics=[one]), 0, raw=True)
    except TimeoutError:
        return True
    except (OSError, EOFError, RemoteProtocolError):
        return False
    else:
        return False
    finally:
        connection.close()
