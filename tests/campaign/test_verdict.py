"""How a cluster comes to rest before it is judged."""

from tests.stock.cluster import DEFAULTS

from .verdict import UNTHROTTLE_EVERY_S


def test_sv_4_a_leader_has_time_to_find_lagging_followers_between_two_unthrottlings() -> None:
    assert 2 * int(DEFAULTS["replica.lag.time.max.ms"]) / 1000 <= UNTHROTTLE_EVERY_S
