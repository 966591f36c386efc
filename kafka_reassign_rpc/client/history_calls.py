"""The call for figures of the past."""

from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.client.vendor_calls import ask_document
from kafka_reassign_rpc.core.reassignment.figure_history import SPANS, PastFigures
from kafka_reassign_rpc.core.status.documents import History

NO_HISTORY = "The controller keeps no figures of the past: that needs a kafka-reassign-rpc server of this version."


async def history(router: RequestRouter) -> list[PastFigures]:
    found = []
    for span, points in SPANS.items():
        past = await ask_document(router, "history", History, NO_HISTORY, {"span": span})
        found.append(PastFigures(past.at, past.step_ms, past.step_ms * points.points, past.points))
    return found
