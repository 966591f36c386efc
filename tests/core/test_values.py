"""What can be changed after it was made."""

from tests.modules import changeable, modules_of


def test_all_values_of_core_stay_as_they_were_made_but_the_cluster_and_what_a_commit_fills() -> None:
    assert changeable(modules_of("core")) == {"Cluster", "SoftState", "Topic", "Durable", "_Tables"}
