"""What can be changed after it was made."""

from tests.modules import changeable, modules_of


def test_all_values_of_the_controller_stay_as_they_were_made_but_a_feature_that_is_read() -> None:
    assert changeable(modules_of("controller")) == {"_Feature"}
