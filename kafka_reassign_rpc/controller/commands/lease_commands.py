"""The command that changes the rates of throttle leases."""

from collections.abc import Iterator

from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.core.znode_routes import lease_rates
from kafka_reassign_rpc.core.znode_routes.lease_rates import ThrottledMoves
from kafka_reassign_rpc.support.counted import counted


class ChangeLeaseRates(Command[ThrottledMoves]):
    """Gives moves in flight and waiting moves another rate. The answer counts a move that has the rate already too, so
    that it is the same after a lost commit."""

    def __init__(self, wanted: lease_rates.Wanted, rate: int, by: Requester = CONTROLLER) -> None:
        super().__init__()
        self.by = by
        self._wanted = wanted
        self._rate = rate

    def decide(self, work: Round) -> Iterator[None]:
        found = yield from lease_rates.change_rates(work.view, self._wanted, self._rate)
        if found.moving or found.waiting:
            work.view.report(rate_event(self._rate, found.moving, found.waiting))
        self.answer(found)


def rate_event(rate: int, moving: int, waiting: int, why: str = "") -> Event:
    reason = f"{counted(moving, 'move')} in flight, {waiting} waiting{why and '; '}{why}"
    return Event(catalogue.THROTTLE_CHANGED, bytes=rate if rate > 0 else None, reason=reason)
