"""Which connection makes room for another."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.server.open_connections import MOST_LOOKS, EvictionOrder


class Connection:
    def __init__(self, last_active: float = 0.0) -> None:
        self.last_active = last_active
        self.idle = True
        self.sent = False
        self.host = ""


def test_sv_6_the_oldest_without_a_request_goes_first() -> None:
    order: EvictionOrder[Connection] = EvictionOrder()
    sent, old, new = Connection(), Connection(), Connection()
    for connection in (sent, old, new):
        order.add(connection, "a")
    order.has_sent(sent)
    assert order.first() is order.first_silent("a") is old
    order.discard(old)
    assert order.first() is order.first_silent("a") is new
    order.discard(new)
    assert order.first_silent("a") is None
    assert order.first() is sent
    order.discard(sent)
    order.discard(sent)
    assert order.first() is None


def test_sv_6_an_address_makes_room_for_itself_alone() -> None:
    order: EvictionOrder[Connection] = EvictionOrder()
    of_a, of_b = Connection(), Connection()
    order.add(of_a, "a")
    order.add(of_b, "b")
    assert order.first_silent("b") is of_b
    assert order.first_silent("c") is None


def test_sv_6_what_is_at_work_never_goes_and_what_was_active_goes_last() -> None:
    order: EvictionOrder[Connection] = EvictionOrder()
    connections = [Connection(float(second)) for second in range(3)]
    for connection in connections:
        order.add(connection, "a")
        order.has_sent(connection)
    connections[0].last_active = 10.0
    connections[1].idle = False
    assert order.first() is connections[2]
    connections[2].idle = False
    assert order.first() is connections[0]
    connections[0].idle = False
    assert order.first() is None


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "send", "active", "work", "rest", "discard", "evict"]), st.integers(0, 7)),
    max_size=MOST_LOOKS,
)


@given(STEPS)
def test_sv_6_the_first_to_go_is_the_one_that_the_rule_names(steps: list[tuple[str, int]]) -> None:
    """Compared with the rule, applied to all connections, as long as there are few."""
    order: EvictionOrder[Connection] = EvictionOrder()
    held: list[Connection] = []
    for now, (step, which) in enumerate(steps):
        if step == "add":
            held.append(Connection(float(now)))
            held[-1].host = "ab"[which % 2]
            order.add(held[-1], held[-1].host)
        elif held:
            chosen = held[which % len(held)]
            if step == "send" and not chosen.sent:
                chosen.sent, chosen.last_active = True, float(now)
                order.has_sent(chosen)
            elif step == "active":
                chosen.last_active = float(now)
            elif step in ("work", "rest"):
                chosen.idle = step == "rest" or not chosen.sent
            elif step in ("discard", "evict"):
                gone = order.first() if step == "evict" else chosen
                if gone is not None:
                    held.remove(gone)
                    order.discard(gone)
        silent = [one for one in held if not one.sent]
        others = sorted((one for one in held if one.sent and one.idle), key=lambda one: one.last_active)
        assert order.first() is next(iter([*silent, *others]), None)
        for host in "ab":
            assert order.first_silent(host) is next((one for one in silent if one.host == host), None)
