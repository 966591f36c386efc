"""Values of configs.

Numbers, booleans and versions as Java reads and prints them.
"""

from kafka_reassign_rpc.core import config_values
from kafka_reassign_rpc.core.config_values import INT16, INT32, INT64
from tests.tables import for_each


def test_sv_1_whole_numbers_of_configs_end_where_those_of_java_do() -> None:
    assert [(1 << bits - 1) - 1 for bits in (16, 32, 64)] == [INT16, INT32, INT64]


INF = float("inf")


@for_each(
    ("text", "value"),
    [
        *(("1", 1.0), ("-.5e2f", -50.0), ("1.D", 1.0), ("Infinity", INF), ("-Infinity", -INF)),
        *(("0x1.8p1", 3.0), ("-0X.8P-1d", -0.25), ("0x1p99999", INF), ("-0x1p99999F", -INF)),
        *(("", None), ("1_0", None), ("inf", None), ("0x1", None), ("1e", None), (" 1", None)),
    ],
)
def test_sv_4_a_double_is_read_as_by_java(text: str, value: float | None) -> None:
    assert config_values.double(text) == value


def test_sv_4_what_is_not_a_number_is_one_to_java() -> None:
    assert config_values.double("NaN") != config_values.double("NaN")


@for_each(
    ("value", "text"),
    [
        *((0.0, "0.0"), (-0.5, "-0.5"), (0.001, "0.001"), (9999999.0, "9999999.0")),
        *(
            (1e7, "1.0E7"),
            (-12345678.5, "-1.23456785E7"),
            (1e-4, "1.0E-4"),
            (-0.000123, "-1.23E-4"),
            (1.5e300, "1.5E300"),
        ),
        *((float("nan"), "NaN"), (INF, "Infinity"), (-INF, "-Infinity")),
    ],
)
def test_sv_4_a_double_is_printed_as_by_java(value: float, text: str) -> None:
    assert config_values.double_text(value) == text


@for_each(
    ("text", "value"),
    [
        *(("7", 7), ("+7", 7), ("-8", -8), ("٣", 3), ("00000000000000000000001", 1)),
        *(("8", None), ("-9", None), ("", None), ("-", None), ("1 ", None), ("1_0", None), ("9" * 20, None)),
    ],
)
def test_sv_4_a_whole_number_has_digits_of_any_script_and_a_bound(text: str, value: int | None) -> None:
    assert config_values.integer(text, 8) == value


@for_each(
    ("text", "value"),
    [
        ("true", True),
        ("FALSE", False),
        ("fal\N{LATIN SMALL LETTER LONG S}e", False),
        ("yes", None),
        ("", None),
        ("fal\N{LATIN SMALL LIGATURE ST}", None),
    ],
)
def test_sv_4_a_boolean_is_read_as_by_java(text: str, value: bool | None) -> None:
    assert config_values.boolean(text) is value


@for_each(
    ("text", "place"),
    [
        *(("0.8.2", 0), ("3.0-IV0", 1), ("3.0-IV1", 2), ("3.0", 2), ("3.0.7", 2), ("3.0.", None), ("3.1", 3)),
        *(("3.2", None), ("3.2-IV0", 4), ("0.8", None), ("4.0", None), ("", None)),
    ],
)
def test_sv_4_a_release_is_the_last_of_its_versions_and_an_unfinished_one_has_no_short_name(
    text: str, place: int | None
) -> None:
    versions = ["0.8.2", "3.0-IV0", "3.0-IV1", "3.1-IV0", "3.2-IV0"]
    assert config_values.metadata_version(text, versions, "3.1-IV0") == place
