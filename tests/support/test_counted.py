"""Numbers with their nouns and verbs."""

from kafka_reassign_rpc.support.counted import agreeing, all_of, counted, first_of, plural, those


def test_a_number_goes_with_its_noun_and_its_verb() -> None:
    assert [counted(count, "move") for count in (0, 1, 2)] == ["0 moves", "1 move", "2 moves"]
    assert [counted(count, "batch") for count in (1, 2)] == ["1 batch", "2 batches"]
    assert [counted(count, "move", "were") for count in (1, 2)] == ["1 move was", "2 moves were"]
    assert [counted(count, "server", "run") for count in (1, 2)] == ["1 server runs", "2 servers run"]
    assert (agreeing(1, "are"), agreeing(0, "are"), plural(1), plural(3)) == ("is", "are", "", "s")


def test_names_go_with_their_noun_and_its_verb() -> None:
    assert [all_of(names) for names in ([4], [5, 4], (5, 6, 1))] == ["4", "5 and 4", "5, 6 and 1"]
    assert [those(names, verb="are") for names in ([4], [5, 4])] == ["broker 4 is", "brokers 4, 5 are"]
    assert those({"b", "a", "c"}, "topic", most=2) == "topics a, b and 1 more"


def test_the_first_names_are_followed_by_how_many_more_there_are() -> None:
    assert first_of([1, 2], 2) == "1, 2"
    assert first_of([1, 2, 3], 2) == "1, 2 and 1 more"
    assert first_of(["a", "b"], 2, of=5, between="; ") == "a; b and 3 more"
    assert first_of(["a"], 2, of=1) == "a"
