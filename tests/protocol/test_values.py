"""What can be changed after it was made."""

from tests.modules import changeable, modules_of


def test_all_values_of_the_protocol_stay_as_they_were_made() -> None:
    assert changeable(modules_of("protocol")) == set()
