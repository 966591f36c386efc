"""What can be changed after it was made."""

from tests.modules import changeable, modules_of


def test_all_values_of_the_planner_stay_as_they_were_made_but_the_cluster_that_is_planned_on() -> None:
    assert changeable(modules_of("planner")) == {
        "PlannerCluster",
        "PlannerTopic",
        "PlannerPartition",
        "MoveBatch",
        "Volume",
    }
