"""Values of configs."""

from kafka_reassign_rpc.core.config_values import INT16, INT32, INT64


def test_sv_1_whole_numbers_of_configs_end_where_those_of_java_do() -> None:
    assert [(1 << bits - 1) - 1 for bits in (16, 32, 64)] == [INT16, INT32, INT64]
