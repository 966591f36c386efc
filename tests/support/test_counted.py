"""Numbers with their nouns and verbs."""

from kafka_reassign_rpc.support.counted import agreeing, counted, plural


def test_a_number_goes_with_its_noun_and_its_verb() -> None:
    assert [counted(count, "move") for count in (0, 1, 2)] == ["0 moves", "1 move", "2 moves"]
    assert [counted(count, "batch") for count in (1, 2)] == ["1 batch", "2 batches"]
    assert [counted(count, "move", "were") for count in (1, 2)] == ["1 move was", "2 moves were"]
    assert (agreeing(1, "are"), agreeing(0, "are"), plural(1), plural(3)) == ("is", "are", "", "s")
