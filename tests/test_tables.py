import pytest

from tests.tables import for_each


@pytest.fixture
def limit() -> int:
    return 3


def test_a_table_names_every_row_that_fails() -> None:
    tried = []

    @for_each("number, word", [(1, "one"), (4, "four"), pytest.param(2, "two", id="the third"), (5, "five")])
    def check(number: int, word: str, *, limit: int) -> None:
        tried.append(word)
        if number == 2:
            pytest.fail("not this one")
        assert number < limit, word

    with pytest.raises(AssertionError) as failed:
        check(limit=3)
    assert tried == ["one", "four", "two", "five"]
    head, *lines = str(failed.value).splitlines()
    assert head == "3 of 4 rows failed"
    assert [line.split(": ")[:2] for line in lines if " rows " not in line and ": " in line] == [
        ["4-four", "AssertionError"],
        ["the third", "Failed"],
        ["5-five", "AssertionError"],
    ]
    assert isinstance(failed.value.__cause__, AssertionError)


async def test_a_table_awaits_a_test_that_is_a_coroutine() -> None:
    @for_each("number", range(100))
    async def check(number: int) -> None:
        raise ValueError(number)

    with pytest.raises(AssertionError, match=r"(?s)^100 of 100 rows failed\n0: ValueError: 0\n.*and 80 more$"):
        await check()


def test_a_table_without_rows_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="no rows of body"):
        for_each("body", [])


@for_each("number", [1, 2])
def test_a_table_leaves_its_fixtures_to_pytest(number: int, limit: int) -> None:
    assert number < limit
