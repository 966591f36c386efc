"""Facts come before the decisions of their round: what was true between two of them is not lost."""

from kafka_reassign_rpc.controller.commands.cluster_commands import BrokersRead
from kafka_reassign_rpc.controller.commands.command import Round
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.writers.facts import BrokersRegistered
from tests.core.build import TOPIC, broker, cluster, not_moving

SERVER = 1000


def round_of(here: Cluster, *registered: list[Broker]) -> RoundView:
    """A round of these readings of the registered brokers."""
    commands = [
        BrokersRead(BrokersRegistered({one.id: one for one in some}), SERVER, lambda: None) for some in registered
    ]
    for command in commands:
        for _ in command.learn(here):
            pass
    view = RoundView(here)
    for command in commands:
        for _ in command.decide(Round(view, {})):
            pass
    return view


async def test_sv_4_a_broker_that_was_lost_and_is_back_within_a_round_has_started_again() -> None:
    """It may have lost what was not on its disk: it leads no longer, and has to catch up."""
    here = cluster(not_moving(1, 2), live=(1, 2))
    view = round_of(here, [broker(2)], [broker(1, epoch=999), broker(2)])
    value = view.get(TOPIC, 0)
    assert value is not None
    assert (value.leader, value.isr) == (2, (2,))


async def test_46_2_a_failed_broker_that_was_back_within_a_round_has_failed_anew() -> None:
    here = cluster(not_moving(1, 2), live=(2,))
    here.failed = {1: 1000}
    view = round_of(here, [broker(1, epoch=999), broker(2)], [broker(2)])
    assert view.failures() == {}
