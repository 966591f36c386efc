"""What is said of a cluster without an active controller."""

from kafka_reassign_rpc.core.state.broker import LostQuorum

AT = 1_764_194_400_000


def test_kr_1_a_lost_quorum_names_who_answers_who_is_dead_since_when_and_which_voters_have_to_run() -> None:
    assert LostQuorum([1, 2], {3: AT, 4: None}, AT, [3, 4, 5]).text == (
        "No controller is active since 2025-11-26 22:00:00 UTC: brokers 1, 2 answer, and get no answer from the quorum;"
        " dead: 3 since 2025-11-26 22:00:00 UTC, 4. Most of the voters have to run: 3, 4, 5"
    )


def test_kr_1_where_no_broker_is_dead_the_controllers_are_to_be_looked_at() -> None:
    assert LostQuorum([1], {}).text == (
        "No controller is active: broker 1 answers, and gets no answer from the quorum;"
        " no broker is dead, so look at the controllers"
    )
