"""A large request is decided in parts, a round for each: while the cluster takes one, the next is decided. Pure."""

from collections.abc import Sequence

from msgspec.structs import replace

from kafka_reassign_rpc.api.ports import AlterReassignments, AskedItem
from kafka_reassign_rpc.core.state.partition import MoveTerms
from kafka_reassign_rpc.kraft.round_records import MOST_MOVES
from kafka_reassign_rpc.support.slices import pieces


def parts_of(request: AlterReassignments) -> Sequence[AlterReassignments]:
    """Each is one record of the state log, and what the cluster is sent at once. Not of a request for the queue, which
    is for later; nor with leases, whose throttles are set once for all, or with cancels, after which there is a look.
    """
    of_all = [(topic, item) for topic, items in request.topics for item in items]
    if request.queue or len(of_all) <= MOST_MOVES or not all(_is_sent_alone(asked) for _, (_, asked) in of_all):
        return [request]
    parts = []
    for some in pieces(of_all, MOST_MOVES):
        topics: dict[str, list[AskedItem]] = {}
        for topic, item in some:
            topics.setdefault(topic, []).append(item)
        parts.append(replace(request, topics=list(topics.items())))
    return parts


def _is_sent_alone(asked: object) -> bool:
    return isinstance(asked, MoveTerms) and not asked.throttle
