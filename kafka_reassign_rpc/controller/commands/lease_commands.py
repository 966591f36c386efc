"""The rates of throttle leases: the command that changes them, and their end while brokers migrate to KRaft."""

from collections.abc import Iterator

from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.queue import lease_rates
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.support.counted import counted


class ChangeLeaseRates(Command[ThrottledMoves | KafkaError]):
    """The answer counts a move that has the rate already too, so that it is the same after a lost commit; it is an
    error where no lease is given."""

    def __init__(self, wanted: lease_rates.Wanted, rate: int, by: Requester = CONTROLLER) -> None:
        super().__init__()
        self.by = by
        self._wanted = wanted
        self._rate = rate

    def decide(self, work: Round) -> Iterator[None]:
        refused = restrictions.lease_refused(work.view.cluster) if self._rate > 0 else None
        if refused is not None:  # a broker may have joined the migration since the client asked
            self.answer(refused)
            return
        found = yield from lease_rates.change_rates(work.view, self._wanted, self._rate)
        if found.moving or found.waiting:
            work.view.report(rate_event(self._rate, found.moving, found.waiting))
        self.answer(found)


def end_leases_while_brokers_migrate(work: Round) -> Iterator[None]:
    """Moves go on and start without leases: after the migration to KRaft nothing would end them."""
    refused = restrictions.lease_refused(work.view.cluster)
    if refused is None:
        return
    ended = yield from lease_rates.change_rates(work.view, None, 0)
    if ended.moving or ended.waiting:
        work.view.report(rate_event(0, ended.moving, ended.waiting, str(refused)))


def rate_event(rate: int, moving: int, waiting: int, why: str = "") -> Event:
    reason = f"{counted(moving, 'move')} in flight, {waiting} waiting{why and '; '}{why}"
    return Event(catalogue.THROTTLE_CHANGED, bytes=rate if rate > 0 else None, reason=reason)
